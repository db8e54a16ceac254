/// The default options of a dispatcher's dispatches, and the bounds of its lanes and its queue.
final class DispatcherControl: DefaultAdmission, @unchecked Sendable {
  // because it has only constants
  private let defaults: ControlOptions.Values
  private let defaultTimeLimit: Int64
  private let bounds: DispatchLimits?
  let laneLimits = KeyedTable<DispatchLimit>()

  /// Nil if there are no defaults and no bounds.
  init?(of name: String, _ defaults: DispatchOptions, _ bounds: DispatchLimits?) {
    self.defaults = (defaults.control as? ControlOptions)?.values ?? ControlOptions.Values()
    defaultTimeLimit = defaults.timeLimit == DispatchOptions.unlimited ? .max : defaults.timeLimit
    self.bounds = bounds
    if let other = defaults.nameBesidesDefaults {
      stopProgram(
        """
        The defaults of dispatcher "\(name)" have the option "\(other)". Only timeout, retry and limited can be \
        defaults: give the option to the dispatches that need it.
        """)
    }
    if bounds == nil, defaultTimeLimit == .max, self.defaults.retry == nil,
      self.defaults.limits.isEmpty
    {
      return nil
    }
  }

  override var controlsSync: Bool { defaultTimeLimit != .max || defaults.retry != nil }
  override var timeLimit: Int64 { defaultTimeLimit }

  override func admission(
    in mode: Dispatcher.Mode?, with own: DispatchAdmission?
  ) -> DispatchAdmission? {
    // A ready dispatch has got its units before, or needs none.
    if own?.isReady == true { return own }
    var values = (own as? ControlOptions)?.values ?? ControlOptions.Values()
    if values.takesDefaults {
      values.retry = values.retry ?? defaults.retry
      let takesLimits = !values.namesLimits && !values.isOfSchedule && mode?.isSync != true
      if takesLimits { values.limits = defaults.limits }
    }
    if let mode, values.takesBounds, !values.isOfSchedule { addBounds(of: mode, to: &values) }
    return own == nil && values.retry == nil && values.limits.isEmpty ? nil : ControlOptions(values)
  }

  private func addBounds(of mode: Dispatcher.Mode, to values: inout ControlOptions.Values) {
    if mode.isSync { return }
    if mode.isAsync {
      if let queue = bounds?.queue { values.add(queue) }
    } else {
      if let lanes = bounds?.lanes { values.add(lanes) }
      guard let lane = bounds?.lane else { return }
      for key in mode.laneKeys { values.add(laneLimits.limit(key, lane.bound, lane.overflow)) }
    }
  }
}

extension DispatchOptions {
  /// The name of an option that can't be a dispatcher's default; nil if there is none.
  fileprivate var nameBesidesDefaults: String? {
    let values = (control as? ControlOptions)?.values ?? ControlOptions.Values()
    let others: [(String, Bool)] = [
      ("after", !after.isEmpty), ("continuingOnFailure", continuesOnFailure),
      ("named", !values.names.isEmpty), ("detached", values.isDetached),
      ("atomic", values.isAtomic), ("durability", values.endsUnsaved != nil),
      ("cancelsPrevious", values.latest != nil), ("skippedIfInFlight", values.single != nil),
      ("exclusive", !values.exclusionKeys.isEmpty), ("when", !values.conditions.isEmpty),
      ("idempotencyKey", values.key != nil),
      ("debounced, throttled, delayed or scheduled", values.start != nil),
      ("deadline", !values.deadlines.isEmpty), ("priority", values.priority != nil),
      ("rateLimited", !values.rates.isEmpty), ("guarded", !values.breakers.isEmpty),
    ]
    return others.first(where: \.1)?.0
  }
}
