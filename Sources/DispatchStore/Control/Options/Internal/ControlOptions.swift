/// The values of a dispatch's control options.
class ControlOptions: DispatchAdmission, @unchecked Sendable {
  // because it has only constants; a subclass says why for its own
  struct Values: Sendable {
    var names: [TypedKey] = []
    var isDetached = false
    var isAtomic = false
    /// The key whose older dispatches this dispatch cancels.
    var latest: TypedKey?
    /// The key beside whose dispatch in flight this dispatch is skipped.
    var single: TypedKey?
    /// Keys that no other running dispatch may have.
    var exclusionKeys: [TypedKey] = []
    /// Conditions that must all hold when the dispatch starts.
    var conditions: [StoreCondition] = []
    /// The idempotency key; the last one counts.
    var key: IdempotencyKey?
    /// The actions of a list with a key, to be compared.
    var listed: [any ActionType] = []
    /// The reason to begin later than at the call; the last one counts.
    var start: LaterStart?
    /// Limits of which the dispatch needs a unit each.
    var limits: [DispatchLimit] = []
    /// The tokens of rate limits that the dispatch needs.
    var rates: [RateDemand] = []
    /// The circuit breakers that have to let the dispatch pass.
    var breakers: [CircuitBreaker] = []
    /// Whether it names its limits, which then replace the default ones.
    var namesLimits = false
    /// Whether the dispatcher's defaults apply; false for the steps of a group.
    var takesDefaults = true
    /// Whether bounds apply that might reject it, those of the dispatcher's lanes and queue and those of what is
    /// unsaved; false if that would leave work half done.
    var takesBounds = true
    /// Whether it ends no earlier than its stores, also at its deadline; true for compensations.
    var endsWithStores = false
    /// The context of its group, whose wait for the dispatch is known before that begins; nil for most.
    var group: DispatchContext?
    /// Whether it is a run of a repeating schedule.
    var isRepeated = false
    /// Deadlines at instants; the soonest one counts.
    var deadlines: [@Sendable (DispatcherClock, CallSite) -> Deadline] = []
    /// The retry policy; the last one counts.
    var retry: RetryPolicy?
    /// The priority; the last one counts.
    var priority: PriorityInbox.Level?
    /// The companions whose rows are saved with the last commit.
    var companions: [DispatchCompanion] = []
    /// Whether the end does not wait until its commits are saved; the last one that says so counts.
    var endsUnsaved: Bool?

    /// Whether it begins at a time, perhaps in a week, so that default time limits are not for it.
    var isScheduled: Bool { if case .schedule? = start { true } else { false } }
    /// Whether its time was set before, so that nobody is there to be refused: default limits and bounds are not for it.
    var isOfSchedule: Bool { isScheduled || isRepeated }
  }

  /// An option: what it changes.
  typealias Option = @Sendable (inout Values) -> Void

  let values: Values
  /// The options that the program has written, in order; none if the values are those of one dispatch.
  fileprivate let options: [Option]
  /// The answer that its idempotency key had when the dispatch was made.
  private let answer: IdempotencyTable.Table.Entry?

  init(
    _ values: Values, of options: [Option] = [], answer: IdempotencyTable.Table.Entry? = nil
  ) {
    (self.values, self.options, self.answer) = (values, options, answer)
  }

  /// Makes options with further ones.
  fileprivate convenience init(_ former: ControlOptions?, and later: [Option]) {
    var values = former?.values ?? Values()
    for option in later { option(&values) }
    self.init(values, of: former.map { $0.options + later } ?? later)
  }

  override func adding(_ others: ArraySlice<DispatchOptions>) -> DispatchAdmission {
    let later = others.flatMap { ($0.control as? ControlOptions)?.options ?? [] }
    return later.isEmpty ? self : ControlOptions(self, and: later)
  }

  override func ofList(_ actions: [any ActionType]) -> DispatchAdmission {
    // The options of a ready dispatch have its actions, and a copy would lose its units.
    if values.key == nil || isReady { return self }
    var values = values
    values.listed = actions
    return ControlOptions(values)
  }

  override var isDetached: Bool { values.isDetached }
  override var isAtomic: Bool { values.isAtomic }
  static let atomic = DispatchOptions().controlled { $0.isAtomic = true }.control

  override var mayEndEarly: Bool { !values.endsWithStores }
  override var takesDefaultTimeLimit: Bool { !values.isScheduled }

  override func deadline(by clock: DispatcherClock, at callSite: CallSite) -> Deadline? {
    if values.deadlines.isEmpty { return nil }
    return values.deadlines.lazy.map { $0(clock, callSite) }.min { $0.time < $1.time }
  }

  override func priority(
    in mode: Dispatcher.Mode, of dispatcher: Dispatcher
  ) -> PriorityInbox.Level? {
    guard let priority = values.priority, priority != .normal else { return nil }
    let lanes = mode.laneKeys
    let isUsed =
      mode.isAsync || !lanes.isEmpty && lanes.allSatisfy(dispatcher.prioritizedLanes.contains)
    return isUsed ? priority : nil
  }

  override var retryRule: (any RetryRule)? { values.retry }

  override var endsUnsaved: Bool { values.endsUnsaved == true }
  override var mayBeRejected: Bool { values.takesBounds && !values.isOfSchedule }

  override func begin(
    for dispatcher: Dispatcher, at callSite: CallSite, until deadline: Deadline?
  ) -> DispatchAdmission {
    let options = ready(for: dispatcher, at: callSite, until: deadline) ?? self
    (options as? LimitedAdmission)?.enterBlocking(for: dispatcher, on: .current, at: callSite)
    return options
  }

  override func send(
    to dispatcher: Dispatcher, at callSite: CallSite, until deadline: Deadline?
  ) -> DispatchAdmission? {
    let options = ready(for: dispatcher, at: callSite, until: deadline)
    _ = (options as? LimitedAdmission)?.enter(at: callSite)
    return options
  }

  override var isReady: Bool { answer != nil }
  override var makesKnown: Bool { values.key != nil || values.start != nil }

  /// The options of a dispatch with limits once it has an answer, or its units; nil if it has no limits.
  ///
  /// One whose key has an answer runs nothing, and needs no unit. One that has timed out, or that other options refuse
  /// now, waits for no unit, and drops no other dispatch.
  private func ready(
    for dispatcher: Dispatcher, at callSite: CallSite, until deadline: Deadline?
  ) -> ControlOptions? {
    guard answer == nil, !values.limits.isEmpty else { return nil }
    // Before the key, which the one in flight has begun before it came there.
    let present = values.single.flatMap { dispatcher.controlTables.singles.present($0) }
    if let key = values.key, let answer = dispatcher.idempotencyTable.answer(key.text) {
      return ControlOptions(values, answer: answer)
    }
    var values = values
    if case .schedule(let rule)? = values.start {
      values.start = .schedule(rule.called(at: dispatcher.clock.moment))
    }
    return LimitedAdmission(
      values, until: deadline,
      refusal: refusal(at: callSite, by: dispatcher, beside: present, until: deadline))
  }

  /// The reason why a dispatch made now does not begin, whatever its limits say; nil if its admission is to decide.
  ///
  /// A reason counts as it does in the admission, which it prevents: a debounce is extended, a rejection noted.
  private func refusal(
    at callSite: CallSite, by dispatcher: Dispatcher, beside present: Dispatch?,
    until deadline: Deadline?
  ) -> DispatchError? {
    if let deadline, deadline.time <= dispatcher.clock.nanoseconds {
      return .timedOut(callSite, after: deadline.duration)
    }
    if values.key?.text.isEmpty == true { return .emptyKey }
    if let key = values.single, let present {
      return .skipped(callSite, for: present.callSite, key)
    }
    do throws(DispatchError) {
      try values.checkStart(at: callSite, of: dispatcher)
      return nil
    } catch {
      return error
    }
  }

  override func gate(for dispatcher: Dispatcher) -> StartGate? {
    values.pacingGate(after: controlGate(of: dispatcher), of: dispatcher)
  }

  private func controlGate(of dispatcher: Dispatcher) -> StartGate? {
    if values.conditions.isEmpty, values.exclusionKeys.isEmpty { return nil }
    let table = dispatcher.exclusionTable
    return ControlGate(values.conditions, table.keys(values.exclusionKeys), of: table)
  }

  override func admit(
    _ dispatch: Dispatch, laterIn mode: Dispatcher.Mode?, to dispatcher: Dispatcher
  ) throws -> Admission {
    if !values.companions.isEmpty { dispatch.makeDetails().companions += values.companions }
    // At the call, as a closed dispatcher refuses it: nobody waits for the end of a schedule to see that it is not saved.
    if mode == nil, case .schedule? = values.start, let failure = dispatch.failureOfRoute {
      throw failure
    }
    // A dispatch that can't begin is no leader, and does not come at its rate or time.
    let key = mode == nil ? nil : values.key
    if let key,
      let leader = try dispatcher.idempotencyTable.admit(dispatch, key, values.listed, answer)
    {
      return .joins(leader)
    }
    // After the key: a repeat runs nothing, so that it is answered beside whatever is in flight, and skips no other.
    if let single = values.single {
      let singles = dispatcher.controlTables.singles
      // Checked before it is in the table: a refused dispatch skips no other.
      if singles.present(single) == nil, mode != nil || values.start == nil {
        try values.checkStart(at: dispatch.callSite, of: dispatcher)
      }
      if let present = singles.insertUnlessPresent(dispatch, single) {
        throw DispatchError.skipped(dispatch.callSite, for: present.callSite, single)
      }
    }
    guard let start = values.start else {
      try values.pace(dispatch, of: dispatcher)
      return .begins
    }
    guard let mode else { return .begins }
    // Check before it opens an interval, which a refused one does not.
    try values.checkStart(at: dispatch.callSite, of: dispatcher)
    let delay = DispatchDelay(of: dispatch, in: mode)
    let admission = try start.admit(delay, to: dispatcher)
    guard case .begins = admission else { return admission }
    do throws(DispatchError) {
      try values.pace(dispatch, of: dispatcher)
    } catch {
      // Since the check, another dispatch has taken the token, or opened the breaker.
      if case .rate(let rate) = start { rate.withdraw(delay, from: dispatcher) }
      throw error
    }
    return admission
  }

  override var isFindable: Bool { !values.names.isEmpty || values.group != nil }
  override var isCancellable: Bool { !values.names.isEmpty || values.latest != nil }

  override func announce(_ dispatch: Dispatch, of dispatcher: Dispatcher) -> [Dispatch] {
    if let group = values.group { WaitGraph.begin(group, onUnaccepted: dispatch) }
    if values.names.isEmpty, values.latest == nil { return [] }
    let tables = dispatcher.controlTables
    for name in values.names { tables.names.insert(dispatch, name) }
    guard let key = values.latest else { return [] }
    let joined = dispatch.details?.isJoining == true ? dispatch.dispatchesBefore.last : nil
    return tables.latest.insert(dispatch, key) { $0 !== joined }
  }
}

extension ControlOptions.Values {
  /// Throws if a rate, a breaker or a rejecting rate limit refuses a dispatch made now; takes no token.
  fileprivate func checkStart(
    at callSite: CallSite, of dispatcher: Dispatcher
  ) throws(DispatchError) {
    switch start {
    case .rate(let rate)?:
      guard try rate.check(at: callSite, of: dispatcher) else { return }
    case .schedule?:
      return
    case nil:
      break
    }
    try checkPace(at: callSite, of: dispatcher)
  }
}

/// A reason why a dispatch may begin later than at the call.
///
/// Indirect, so that the values of a dispatch without one are small.
indirect enum LaterStart: Sendable {
  case rate(KeyedRate)
  case schedule(ScheduleRule)

  func admit(_ delay: DispatchDelay, to dispatcher: Dispatcher) throws -> Admission {
    switch self {
    case .rate(let rate): try rate.admit(delay, to: dispatcher)
    case .schedule(let rule): try rule.admit(delay, to: dispatcher)
    }
  }
}

extension DispatchOptions {
  /// Returns the options of a step of a group, whose schedule is not saved: the group is lost with the process.
  var ofStep: DispatchOptions {
    guard case .schedule(var rule)? = (control as? ControlOptions)?.values.start else {
      return self
    }
    rule.isSaved = false
    return controlled { [rule] in $0.start = .schedule(rule) }
  }

  /// Returns these options with changed control values.
  ///
  /// The change is made again on the values of others in an array literal.
  func controlled(_ change: @escaping ControlOptions.Option) -> DispatchOptions {
    var options = self
    options.control = ControlOptions(control as? ControlOptions, and: [change])
    return options
  }
}
