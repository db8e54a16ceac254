private import Foundation

/// Notes what happens at a dispatcher: a bounded log that you can look at, save, and go back in.
///
///     let recorder = DispatchRecorder(limit: 10_000)
///     dispatcher.register(middleware: recorder)
///     …
///     for entry in recorder.log.filtered(store: "orders").entries { print(entry.actions, entry.stores) }
///
/// Register it before you dispatch. It notes each dispatch with its parent, call site, mode and times, and for each store
/// the outcome, the versions and the differences of its model. Nothing is written as text before somebody asks for the
/// log. The recorder keeps, besides the actions, what each commit has changed: the elements of dictionaries that the
/// store names by `undoesInPlace(_:)` or saves by `.elements`, and the rest of the model. The rest is copied on write,
/// so name large dictionaries that way, or make a recorder that keeps no models.
///
/// A recorder belongs to one dispatcher: the first dispatch of a second one stops the program. You can use it from any
/// thread.
public final class DispatchRecorder: Middleware {
  let core: RecorderCore
  let travel = Locked(TravelState.present)
  /// Tells its entries in a database from those of other recorders.
  let rowMark = Int64.random(in: 1..<1 << 23)
  /// The position after the entries that are saved in a database.
  let savedPosition = Locked(0)
  let recordsModels: Bool
  private let masks: ValueMasks
  private let coder: ActionCoder?

  /// Makes a recorder.
  ///
  /// - Parameters:
  ///   - limit: The number of entries, and of commits, that are kept; at times an eighth more, and during a travel beside
  ///     those from before it.
  ///   - byteLimit: The memory that actions and changes may take, as an estimate by reflection, which takes some
  ///     microseconds for each commit, and counts an object as a reference; nil for no such limit.
  ///   - recordsModels: Whether to keep what commits change. Without it there are no differences, and no time travel.
  ///   - masks: The values that are not written into the log.
  ///   - actions: The names of action types in encoded forms; by default, those of the types.
  /// - Precondition: Limits are above zero.
  public init(
    limit: Int = 10_000, byteLimit: Int? = nil, recordsModels: Bool = true,
    masking masks: [LogMask] = [], actions: ActionCoder? = nil
  ) {
    if limit <= 0 || byteLimit.map({ $0 <= 0 }) == true {
      stopProgram("The limits of a recorder have to be above zero.")
    }
    core = RecorderCore(RecorderState(limit: limit, byteLimit: byteLimit))
    (self.recordsModels, self.masks, coder) = (recordsModels, ValueMasks(masks), actions)
  }

  deinit {
    if isTravelling { core.dispatcher?.endPause() }
    core.endTapes()
  }

  // MARK: The log

  /// The log as it is now; made at each read, in time linear in its entries.
  public var log: DispatchLog {
    let (home, entries, dropped) = core.state.withLock { ($0.home, $0.entries, $0.droppedCount) }
    return write(home, entries, dropped)
  }

  /// Returns the entries that came after a position, to be sent somewhere.
  ///
  /// - Parameters:
  ///   - position: The position that the last call returned; zero at first.
  ///   - count: The most entries to return. If there are more, it returns the latest, and the others count as dropped.
  /// - Returns: The entries, and the position after them.
  public func log(after position: Int, atMost count: Int) -> (log: DispatchLog, position: Int) {
    log(after: position, atMost: count, areLatest: true)
  }

  /// Returns the latest or the oldest entries after a position, those before them as dropped, and the position after
  /// them.
  ///
  /// - Parameter bytes: The text after which no further entry is written.
  package func log(
    after position: Int, atMost count: Int, areLatest: Bool, bytes: Int = .max
  ) -> (log: DispatchLog, position: Int) {
    let (home, entries, dropped, end) = core.state.withLock { state in
      let last = state.droppedCount + state.entries.count
      let position = min(max(position, 0), last)
      let kept = state.entries.suffix(last - position)
      let entries = areLatest ? kept.suffix(max(0, count)) : kept.prefix(max(0, count))
      let start = state.droppedCount + entries.startIndex
      return (state.home, Array(entries), start - position, start + entries.count)
    }
    let log = write(home, entries, dropped, bytes)
    return (log, end - entries.count + log.entries.count)
  }

  private func write(
    _ home: RecorderState.Home?, _ entries: [RecorderState.Entry], _ dropped: Int,
    _ bytes: Int = .max
  ) -> DispatchLog {
    let writer = LogWriter(masks: masks, coder: coder, start: home?.start ?? 0)
    var log = DispatchLog(
      dispatcher: home?.name ?? "", origin: Date(unixNanoseconds: home?.unix ?? 0),
      droppedCount: dropped)
    var size = 0
    for entry in entries where size < bytes {
      let written = writer.entry(entry)
      size += written.textSize
      log.entries.append(written)
    }
    return log
  }

  // MARK: Hooks

  /// Notes that a dispatch is under way.
  public func dispatchWillBegin(_ dispatch: DispatchInfo) {
    if core.begin(dispatch), recordsModels {
      for store in dispatch.dispatcher.stores { core.read(store) }
    }
  }

  /// Begins to read the commits of a store that it does not know; passes the action.
  public func willDispatch(
    transaction: DispatchInfo, action: AnyAction, in store: AnyStore
  ) -> MiddlewareVerdict {
    if recordsModels { core.read(store) }
    return .pass
  }

  /// Notes the end of a store's run.
  public func didDispatch(transaction: StoreRunInfo, action: AnyAction, in store: AnyStore) {
    let version = store.version
    core.state.withLockReleasing { state in
      // Made here, since a copy counts references.
      state.note(
        RecorderState.Run(
          storeIdentifier: store.identifier, outcome: transaction.outcome,
          timeQueued: transaction.nanosecondsBeforeStart, duration: transaction.nanoseconds,
          version: version, replacement: transaction.replacement),
        of: transaction.dispatch.id, isRepeated: transaction.isRepeated)
    }
  }

  /// Adds the dispatch to the log.
  public func dispatchDidEnd(_ dispatch: DispatchInfo, result: DispatchResult) {
    var released: Released?
    let hasWaited = dispatch.session.hasWaitedForSaving
    let unmeasured = core.state.withLock { state -> RecorderState.Entry? in
      let entry = state.takeUnderWay(dispatch.id, session: dispatch.session)
      entry.noteEnd(at: dispatch.times, error: result.error)
      if state.isMeasured { return entry }
      released = state.add(entry, hasWaited: hasWaited)
      return nil
    }
    if let entry = unmeasured {
      // Reflection may call code of the program.
      entry.size += RoughSize.of(entry)
      released = core.state.withLock { $0.add(entry, hasWaited: hasWaited) }
    }
    withExtendedLifetime(released) {}
  }
}

extension DispatchRecorder: RegistrationAware {
  func noteRegistration(_ isRegistered: Bool) {
    core.state.withLock { $0.isUnregistered = !isRegistered }
  }
}
