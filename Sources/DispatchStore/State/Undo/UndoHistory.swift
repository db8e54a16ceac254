/// Undoes the changes of stores, and does them again.
///
///     let history = UndoHistory(of: drawing, palette, limit: 500)
///     await drawing.send(Move(shape: 7, by: 20))
///     await history.undo().ended()
///     await history.redo().ended()
///
/// A step is what one dispatch has changed in these stores, or what one `updateModel` has. Undo and redo are atomic
/// actions (`UndoStep`): all stores change, or none, with new versions, and middleware, observers, effects and
/// persistence see them. A dispatch that changes a store after an undo ends what could be done again. A change by an
/// observer inside an undo does not: the next undo or redo takes it back first.
///
/// A step keeps the elements that it has changed in the dictionaries that the store names by `undoesInPlace(_:)`, or
/// saves by `.elements`. It also keeps the rest of the model, which shares its storage with the steps around it. Name
/// these dictionaries before you make a history. If a commit assigns another dictionary, earlier steps are forgotten.
///
/// Commits are noted in their stores' exclusive sections. The stores do not keep the history alive, nor it them.
public final class UndoHistory: Sendable {
  private let log: UndoLog
  private let tapes: [StoreTape]

  /// Makes a history that begins with the stores as they are.
  ///
  /// - Parameters:
  ///   - stores: The stores, all of one dispatcher.
  ///   - limit: The number of steps that are kept; at times an eighth more.
  ///   - key: Gives consecutive dispatches a key, and those with the same key are one step, such as the letters of a
  ///     word. Called in the store's exclusive section.
  ///   - interval: The longest time between two commits of such a step, by the dispatcher's clock.
  /// - Precondition: There are stores, each of them once, and the limit is more than zero.
  public init(
    of stores: AnyStore..., limit: Int = 1_000,
    groupedBy key: (@Sendable (AnyAction) -> (any Hashable & Sendable)?)? = nil,
    within interval: Duration = .seconds(1)
  ) {
    let taped = stores.compactMap { $0 as? any TapedStore }
    guard limit > 0, !stores.isEmpty, taped.count == stores.count else {
      stopProgram(
        "An undo history needs stores, each a Store, and a limit above zero, not \(limit).")
    }
    guard Set(stores.map { ObjectIdentifier($0) }).count == stores.count else {
      stopProgram(
        "An undo history has each of its stores once, not \(stores.map(\.identifier)).")
    }
    let log = UndoLog(
      UndoState(limit: limit, interval: interval.wholeNanoseconds), key,
      taped[0].dispatcher)
    self.log = log
    tapes = taped.enumerated().map { StoreTape(of: $1, to: log, index: $0) }
    // A tape that began during an atomic action has only a part of its changes. With all stores locked, none is under way.
    let storages = taped.map(\.storageOfTape).sorted { $0.lockRank < $1.lockRank }
    for storage in storages { storage.lock.lock() }
    let released = log.state.withLock { $0.removeAll() }
    for storage in storages.reversed() { storage.lock.unlock() }
    withExtendedLifetime(released) {}
  }

  deinit {
    // First, since an undo that waits would take a step as the last one after a commit that the tapes have missed.
    log.state.withLock { $0.close() }
    for tape in tapes { tape.endTape() }
  }

  /// Whether there is a step to undo.
  public var canUndo: Bool { log.state.withLock { !$0.past.isEmpty } }

  /// Whether there is a step to do again.
  public var canRedo: Bool { log.state.withLock { !$0.future.isEmpty } }

  /// Undoes the last step.
  ///
  /// Which step that is, is decided when the dispatch runs. If there is none, or the history was released meanwhile, the
  /// stores stay as they are, and their versions too.
  ///
  /// - Returns: The dispatch of `UndoStep.undo`, to await. Its error is `notRegistered` if a store has left.
  /// - Precondition: The call is not made inside the exclusive section of a store.
  @discardableResult
  public func undo(
    mode: Dispatcher.Mode = .async, fileID: StaticString = #fileID, line: UInt = #line
  ) -> DispatchHandle {
    dispatch(.undo, mode, CallSite(fileID, line))
  }

  /// Does the step again that was undone last, if nothing has changed a store since.
  ///
  /// Behaves in all else like `undo(mode:)`.
  @discardableResult
  public func redo(
    mode: Dispatcher.Mode = .async, fileID: StaticString = #fileID, line: UInt = #line
  ) -> DispatchHandle {
    dispatch(.redo, mode, CallSite(fileID, line))
  }

  /// Forgets all steps.
  public func removeAll() {
    log.state.withLockReleasing { $0.removeAll() }
  }

  private func dispatch(
    _ step: UndoStep, _ mode: Dispatcher.Mode, _ callSite: CallSite
  ) -> DispatchHandle {
    let stores = tapes.map(\.store)
    let move = TakenOnce { [log] in
      let id = DispatchContext.currentTransaction(on: .current)
      return log.state.withLock { step == .undo ? $0.undo(by: id) : $0.redo(by: id) }
    }
    if isPlanted(.stepTakenEarly) { _ = move.value }
    let entries = tapes.compactMap { tape in
      tape.restoringEntry(of: UndoStep.self, noting: step) { move.value?[tape.index] ?? [] }
    }
    guard let dispatcher = stores[0]?.dispatcher, entries.count == tapes.count,
      stores.allSatisfy({ $0?.dispatcher === dispatcher })
    else { return refuse(step, callSite) }
    return dispatcher.restore(entries, by: step, mode: mode, callSite)
  }

  private func refuse(_ step: UndoStep, _ callSite: CallSite) -> DispatchHandle {
    let error = DispatchError(
      code: .notRegistered,
      message: """
        Can't \(step) (\(callSite)): the stores of an undo history have to be registered with one dispatcher, and \
        kept, and one of these is not.
        """,
      storeIdentifiers: tapes.compactMap { $0.store?.identifier })
    return Dispatcher.default.makeFailed(with: error, nil, callSite)
  }
}

/// The action of `UndoHistory.undo(mode:)` or `redo(mode:)`, as middleware gets it.
///
/// Observers get it, too, as the action of a change, and so do hooks of a store; but not of a store with an action type
/// of its own, which has no value for it.
public enum UndoStep: AtomicAction {
  /// The last step is undone.
  case undo
  /// The step that was undone last is done again.
  case redo
}

/// The commits of a history's stores.
private final class UndoLog: TapeSink {
  let state: Locked<UndoState>
  private let key: (@Sendable (AnyAction) -> (any Hashable & Sendable)?)?
  /// Nil until a store of a dispatcher has committed.
  private let clock: Locked<DispatcherClock?>

  init(
    _ state: UndoState, _ key: (@Sendable (AnyAction) -> (any Hashable & Sendable)?)?,
    _ dispatcher: Dispatcher?
  ) {
    (self.state, self.key) = (Locked(state), key)
    clock = Locked(dispatcher?.clock)
  }

  func storeWasLoaded() -> AnyObject? { state.withLock { $0.removeAll() } }

  func keep(
    _ commit: TapedCommit, action: @autoclosure () -> AnyAction?,
    of dispatcher: @autoclosure () -> Dispatcher?, _ kept: inout KeptCommit
  ) {
    if let makeKey = key, let action = action() {
      commit.key = makeKey(HandledAction.unwrapped(action)).map { TypedKey($0) }
      if let key = commit.key { kept.release(key) }
      let clock = clock.withLock(\.self) ?? takeClock(of: dispatcher(), &kept)
      commit.time = clock?.nanoseconds ?? 0
    }
    if let released = state.withLock({ $0.add(commit) }) { kept.release(released) }
  }

  private func takeClock(
    of dispatcher: Dispatcher?, _ kept: inout KeptCommit
  ) -> DispatcherClock? {
    guard let dispatcher else { return nil }
    // Outside of the lock, since nobody else may keep the dispatcher by then.
    kept.release(dispatcher)
    clock.withLock { $0 = dispatcher.clock }
    return dispatcher.clock
  }
}
