extension DispatchRecorder {
  /// Returns the model of a store at an earlier version, without touching the store.
  ///
  /// Undoes the commits since then on a copy. Returns nil if the recorder does not know that version any longer, or
  /// not yet.
  ///
  /// - Precondition: The call is not made inside the exclusive section of a store.
  public func state<Model, Action>(of store: Store<Model, Action>, at version: UInt64) -> Model? {
    if let held = ThreadState.current.exclusive {
      stopProgram(
        """
        An earlier state of store "\(store.identifier)" can't be read inside the exclusive section of store \
        "\(held.identifier)". Read it before the dispatch.
        """)
    }
    guard let tape = core.tape(of: store) else { return nil }
    let storage = store.storage
    let (model, changes) = storage.withLock { _ in
      let changes: [StateDistance]? =
        storage.version == version
        ? [] : core.state.withLock { $0.changes(at: tape.index, to: version) }
      return (storage.model.pointee, changes)
    }
    guard let changes else { return nil }
    var copy = model
    withUnsafeMutablePointer(to: &copy) { copy in for part in changes { part.apply(to: copy) } }
    return copy
  }

  /// Sets all stores to what they were when a dispatch had ended, and pauses the dispatcher until `resume`.
  ///
  /// For development and tests. From the call on, a dispatch that is not made by one under way ends with the error
  /// `dispatcherPaused`. Once those under way have ended, including delayed ones, the stores are set in one atomic
  /// action. No middleware, effect or follower sees that; observers and persistence do. So nothing else runs before
  /// `resume`. You may travel again meanwhile.
  ///
  /// Changes by `updateModel` outside of dispatches are not prevented, and are lost at the next travel or resume. All from
  /// before the travel is kept beside the limits meanwhile, so they leave a way back unless they exceed these alone.
  ///
  /// - Parameters:
  ///   - id: The number of a dispatch in the log.
  ///   - limit: The longest time to wait for dispatches under way, by the dispatcher's clock; nil to wait to the end.
  /// - Throws: A `TravelError`. The dispatcher then goes on as before.
  public func travel(to id: UInt64, timeout limit: Duration? = nil) async throws(TravelError) {
    let start = try beginToMove()
    var isPaused = false
    do throws(TravelError) {
      let mark = try core.state.withLock { state throws(TravelError) in try state.mark(ofEntry: id)
      }
      let dispatcher = try travelledDispatcher()
      if case .present = start {
        guard dispatcher.pause() else { throw TravelError(.underWay) }
        isPaused = true
        try await awaitEnd(of: dispatcher, limit)
      }
      try await move(dispatcher, from: start, to: mark)
    } catch {
      if isPaused { core.dispatcher?.endPause() }
      travel.withLock { $0 = start }
      throw error
    }
  }

  /// Ends a travel: stores get their last states again, also unregistered ones, and the dispatcher goes on.
  ///
  /// - Parameter keepsState: Whether stores keep the earlier state instead, and go on from there. The log then keeps its
  ///   later entries, but you can't travel to them any longer.
  /// - Throws: A `TravelError` if stores could not be set; you can call it again. It is `tooFarBack` if changes made
  ///   meanwhile have left no way back; stores then stay as they are, and you can keep the state. If only stores that are
  ///   gone were not set, or that another dispatcher has, the travel has ended: it is `storesNotSet`, and its cause names
  ///   them. A store that another dispatcher has keeps the earlier state, so you can't travel to what it has lost.
  public func resume(keepingState keepsState: Bool = false) async throws(TravelError) {
    let start = try beginToMove()
    guard case .past(let mark, let count) = start else { return travel.withLock { $0 = start } }
    let dispatcher: Dispatcher
    do throws(TravelError) {
      dispatcher = try travelledDispatcher()
      if keepsState {
        core.state.withLockReleasing { $0.forgetCommits(after: mark, upTo: count) }
      } else {
        try await restore(dispatcher, from: mark, to: count, count: count)
      }
    } catch {
      travel.withLock { $0 = start }
      throw error
    }
    let present = Set(core.presentTapes.map(\.index))
    let (lost, released) = core.state.withLock { $0.takeUnset(of: present) }
    withExtendedLifetime(released) {}
    travel.withLock { $0 = .present }
    dispatcher.endPause()
    if !lost.isEmpty { throw TravelError(.storesNotSet, cause: Self.error(of: lost)) }
  }

  private static func error(of lost: [String]) -> DispatchError {
    DispatchError(
      code: .notRegistered,
      message: """
        Stores \(lost) did not get their last states: they are gone, or registered elsewhere. The travel has ended.
        """,
      storeIdentifiers: lost)
  }

  /// Whether stores are set to an earlier state, also while they are set to another one.
  public var isTravelling: Bool { travel.withLock(\.isPast) }

  private func beginToMove() throws(TravelError) -> TravelState {
    try travel.withLock { state throws(TravelError) in
      if case .moving = state { throw TravelError(.underWay) }
      defer { state = .moving(wasPast: state.isPast) }
      return state
    }
  }

  private func travelledDispatcher() throws(TravelError) -> Dispatcher {
    guard let dispatcher = core.dispatcher else { throw TravelError(.noDispatcher) }
    if DispatchContext.isInside(of: dispatcher.number, on: .current) {
      throw TravelError(.wouldDeadlock)
    }
    return dispatcher
  }

  private func awaitEnd(
    of dispatcher: Dispatcher, _ limit: Duration?
  ) async throws(TravelError) {
    if isPlanted(.travelledBeforeEnd) { return }
    guard await dispatcher.dispatchesEnd(timeout: limit) else { throw TravelError(.busy) }
  }

  private func move(
    _ dispatcher: Dispatcher, from start: TravelState, to mark: Int
  ) async throws(TravelError) {
    // Counted once nothing is under way: dispatches that have ended since may have committed.
    var (present, count) = core.state.withLock { ($0.commitCount, $0.commitCount) }
    if case .past(let mark, let former) = start { (present, count) = (mark, former) }
    guard recordsModels, core.state.withLock({ $0.canGoBack(to: mark) }) else {
      throw TravelError(.tooFarBack)
    }
    try await restore(dispatcher, from: present, to: mark, count: count)
    travel.withLock { $0 = .past(mark: mark, of: count) }
  }

  /// Sets the stores; `count` commits were made before the travel began, and others since then are undone for good.
  private func restore(
    _ dispatcher: Dispatcher, from present: Int, to mark: Int, count: Int
  ) async throws(TravelError) {
    let travellers = core.state.withLock(\.travellers)
    let members: [(tape: StoreTape, store: any TapedStore)] = core.presentTapes.compactMap { tape in
      guard let store = tape.store, travellers?.contains(tape.index) != false,
        mayBeSet(store, by: dispatcher, wasSet: travellers != nil)
      else { return nil }
      return (tape: tape, store: store)
    }
    let indices = members.map { $0.tape.index }
    // Kept to the end of this function, since the entries' closures run in the stores' exclusive sections.
    let moves = TakenOnce { [core] in
      core.state.withLock { $0.takeMoves(of: indices, from: present, to: mark, of: count) }
    }
    let entries = members.compactMap { member in
      let tape = member.tape
      return tape.restoringEntry(of: TimeTravel.self) { moves.value?[tape.index] ?? [] }
    }
    if entries.isEmpty { return }
    // A limit, or the cancellation of a block around it, would keep a travel from coming back.
    let options = DispatchOptions.timeout(nil).controlled {
      ($0.isDetached, $0.takesDefaults, $0.takesBounds) = (true, false, false)
    }
    let handle = dispatcher.restore(
      entries, by: TimeTravel(), mode: .async, options: options, isPartOfPause: true,
      CallSite(#fileID, #line))
    let error = await handle.result.error
    guard let taken = moves.taken else {
      if let error { throw TravelError(.storesNotSet, cause: error) }
      return
    }
    // Once the first store has changed, all do: an error is then one of saving them.
    if taken == nil { throw TravelError(.tooFarBack) }
  }

  /// Whether a travel sets a store: one of the dispatcher, or one that was unregistered since it was set.
  private func mayBeSet(
    _ store: any TapedStore, by dispatcher: Dispatcher, wasSet: Bool
  ) -> Bool {
    if let home = store.dispatcher { return home === dispatcher }
    if !wasSet { return false }
    // Refused if its identifier is another store's: its state can't be saved.
    return store.storageOfTape.presentKeeper?.gate.refusalOfStore == nil
  }
}

/// The reason why a recorder did not set stores to an earlier state.
public struct TravelError: Error, CustomStringConvertible {
  /// Kinds of reasons; later versions may add more.
  public struct Code: Hashable, Sendable {
    let reason: String

    /// The log has no such dispatch, or no longer.
    public static let notInLog = Code(
      reason: "The log has no dispatch with that number, or no longer.")
    /// The recorder no longer has all commits since that dispatch or on the way back, or it keeps no models.
    public static let tooFarBack = Code(
      reason: """
        The recorder no longer has all changes since that dispatch, or on the way back from it: there were more than \
        it keeps, resume(keepingState: true) has left them behind, a store was loaded, another dictionary of it was \
        named, or one of the changes has assigned another dictionary. Give it a higher limit, and let it record \
        models. resume(keepingState: true) ends a travel without a way back.
        """)
    /// Dispatches under way had not ended when the time was over, or the task was cancelled.
    public static let busy = Code(
      reason: """
        Dispatches were still under way when the time was over, or the task was cancelled; Dispatcher.diagnosis() \
        says which.
        """
    )
    /// Another call of `travel` or `resume` is under way.
    public static let underWay = Code(
      reason: "Another travel or resume is under way, or the dispatcher is paused.")
    /// The call was made inside a dispatch of the dispatcher, for whose end it would wait.
    public static let wouldDeadlock = Code(
      reason: """
        It was called inside a dispatch of the dispatcher, for whose end it would wait. Call it outside of handlers.
        """)
    /// The recorder's dispatcher is gone.
    public static let noDispatcher = Code(reason: "The recorder's dispatcher is gone.")
    /// Stores were not set; the cause says why.
    public static let storesNotSet = Code(reason: "Stores were not set.")
  }

  /// The kind of reason.
  public let code: Code
  /// The error of the dispatch that was to set the stores.
  public let cause: (any Error)?

  init(_ code: Code, cause: (any Error)? = nil) { (self.code, self.cause) = (code, cause) }

  /// The reason in words, with the cause.
  public var description: String { code.reason + (cause.map { " \($0)" } ?? "") }
}
