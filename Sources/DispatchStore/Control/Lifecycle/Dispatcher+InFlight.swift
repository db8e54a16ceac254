extension Dispatcher {
  /// Whether the program has asked for a table of the dispatches in flight; false at first.
  ///
  /// The table serves a drain's report, an operator's page and `diagnosis`. You can switch it on and off at any time,
  /// from any thread; the table has the dispatches that were made while it was on. Each of these costs a record and an
  /// entry in a sharded table, from `dispatch` until its completion has run. `watchdog(after:report:)` keeps a table,
  /// too, without setting this.
  public var tracksInFlight: Bool {
    get { inFlightTable?.users.isTracking == true }
    set { changeInFlight { $0.isTracking = newValue } }
  }

  /// The dispatches that have not ended, in the order of their identifiers; a sequence has its present action.
  ///
  /// Empty unless `tracksInFlight` is set, or a watchdog is. A dispatch that `debounced` or `throttled` delays is there
  /// once it begins; a drain's report has it before. So is a scheduled one, which `scheduled` has before.
  public var inFlight: [InFlightDispatch] { inFlightTable?.all.map(InFlightDispatch.init) ?? [] }

  /// The table of dispatches in flight, if one is kept.
  var inFlightTable: InFlightTable? {
    registry.withLock(\.chain.watcher) as? InFlightTable
  }

  /// Changes who needs the table, for dispatches made from now on; without anyone, there is none.
  ///
  /// - Returns: The former table.
  @discardableResult
  func changeInFlight(_ change: (inout InFlightTable.Users) -> Void) -> InFlightTable? {
    changeRegistry(.register) { registry in
      let former = registry.chain.watcher as? InFlightTable
      var users = former?.users ?? InFlightTable.Users()
      change(&users)
      registry.set(users.isEmpty ? nil : InFlightTable(for: users, after: former))
      return former
    }
  }
}

/// A dispatch that has not ended.
public struct InFlightDispatch: Sendable, CustomStringConvertible {
  /// The identity of the dispatch.
  ///
  /// For a sequence, the parent of its actions.
  public let id: DispatchID
  /// The dispatch inside which it was made.
  public let parent: DispatchID?
  /// The actions as dispatched; one, unless it is a sequence.
  public let actions: [AnyAction]
  /// The mode that schedules it.
  public let mode: Dispatcher.Mode
  /// The call site of the dispatch.
  public let callSite: CallSite

  init(_ trace: InFlightTrace) {
    (id, parent, actions) = (trace.id, trace.parent, trace.actions)
    (mode, callSite) = (trace.mode, trace.callSite)
  }

  init(_ delayed: Dispatch, _ subject: DispatchSubject, _ mode: Dispatcher.Mode) {
    (id, parent, actions) = (delayed.id, delayed.parent, subject.actions)
    (self.mode, callSite) = (mode, delayed.callSite)
  }

  /// The types of the actions, the mode and the call site.
  public var description: String {
    let types = actions.prefix(3).map { "\(type(of: $0))" }
    let more = actions.count > types.count ? ["…"] : []
    return "\((types + more).joined(separator: ", ")), \(mode), at \(callSite)"
  }
}
