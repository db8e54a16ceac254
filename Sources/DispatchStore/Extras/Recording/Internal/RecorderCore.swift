/// The part of a recorder that its stores keep alive.
final class RecorderCore: TapeSink {
  let state: Locked<RecorderState>
  private let tapes = Locked(Tapes())

  /// The tapes of the stores that are read.
  private struct Tapes {
    /// By the address of the store; that of a store that is gone may be another one's.
    private(set) var byStore: [ObjectIdentifier: StoreTape] = [:]
    private var lastIndex = 0

    mutating func makeIndex() -> Int {
      lastIndex += 1
      return lastIndex
    }

    func tape(of store: AnyStore) -> StoreTape? {
      guard let tape = byStore[ObjectIdentifier(store)] else { return nil }
      return tape.store === store ? tape : nil
    }

    /// Adds the tape of a store; returns false if the store has one.
    mutating func insert(_ tape: StoreTape, of store: AnyStore) -> Bool {
      if self.tape(of: store) != nil, !isPlanted(.readTwice) { return false }
      byStore[tape.storeAddress] = tape
      return true
    }

    /// Removes the tape of a store that goes.
    mutating func remove(_ tape: StoreTape) {
      if byStore[tape.storeAddress] === tape { byStore[tape.storeAddress] = nil }
    }
  }

  init(_ state: RecorderState) { self.state = Locked(state) }

  var dispatcher: Dispatcher? { state.withLock(\.home)?.dispatcher.dispatcher }

  /// The stores that are read, in the order in which they came.
  var presentTapes: [StoreTape] {
    tapes.withLock { $0.byStore.values.sorted { $0.index < $1.index } }
  }

  /// Ends reading; called when the recorder is released, so that the tapes do not keep this object alive.
  func endTapes() {
    let ended = tapes.exchange(Tapes()).byStore
    for tape in ended.values { tape.endTape() }
  }

  func tape(of store: AnyStore) -> StoreTape? { tapes.withLock { $0.tape(of: store) } }

  /// Notes that a dispatch is under way; returns whether it is the dispatcher's first.
  func begin(_ dispatch: DispatchInfo) -> Bool {
    let isOutside =
      !dispatch.session.isStep
      && dispatch.parent.map { !DispatchContext.isBlock(of: $0, on: .current) } ?? false
    let known = state.withLock { state in
      state.begin(
        dispatch.id, isOutsideBlocks: isOutside, countingFor: dispatch.parent,
        session: dispatch.session)
      return state.home?.number
    }
    if known == dispatch.dispatcher.number { return false }
    // A reading of the clock is code of the program.
    let home = RecorderState.Home(dispatch.dispatcher)
    let first = state.withLock { $0.begin(at: home) }
    if first.number != home.number {
      stopProgram(
        """
        A DispatchRecorder has noted dispatches of dispatcher "\(first.name)", and now gets those of dispatcher \
        "\(home.name)". Make a recorder for each dispatcher.
        """)
    }
    return first === home
  }

  /// Begins to read a store's commits, unless it is read.
  func read(_ store: AnyStore) {
    // The cast last: it takes longer than all else that a known store needs.
    if tapes.withLock({ $0.tape(of: store) != nil }) { return }
    guard let taped = store as? any TapedStore else { return }
    let tape = StoreTape(of: taped, to: self, index: tapes.withLock { $0.makeIndex() })
    // Another thread has been faster.
    if tape.isCancelled { tape.endTape() }
  }

  func begin(_ tape: StoreTape, of store: AnyStore) -> Bool {
    tapes.withLock { $0.insert(tape, of: store) }
  }

  func storeWasLoaded() -> AnyObject? { state.withLock { $0.forgetAll() } }

  func storeGoes(_ tape: StoreTape) { tapes.withLock { $0.remove(tape) } }

  func keep(
    _ commit: TapedCommit, action: @autoclosure () -> AnyAction?,
    of dispatcher: @autoclosure () -> Dispatcher?, _ kept: inout KeptCommit
  ) {
    let (isPart, excess, isMeasured) = state.withLock {
      ($0.keep(commit), $0.takeExcess(), $0.isMeasured)
    }
    if let excess { kept.release(excess) }
    if isMeasured { kept.schedule(CommitMeasure(of: commit, for: self)) }
    if isPart { return }
    let home = state.withLock(\.home)
    if commit.dispatchID != nil {
      // Commits of the dispatcher's own dispatches that are not recorded get no entry, say once the recorder is
      // unregistered.
      let number = DispatchContext.innermostDispatcher(on: .current)
      if number == nil || number == home?.number { return }
    }
    let time = home?.clock.nanoseconds ?? 0
    if let released = state.withLock({ $0.addChange(commit, at: time) }) { kept.release(released) }
  }

  /// Estimates the size of a commit, outside of locks: reflection may call code of the program.
  fileprivate func measure(_ commit: TapedCommit) {
    let size = RoughSize.of(commit)
    state.withLockReleasing { $0.noteSize(size, of: commit) }
  }
}

/// The call for a commit whose size is estimated once its exclusive section is left.
private final class CommitMeasure: ObserverRecord, @unchecked Sendable {
  // because it is constant
  private let commit: TapedCommit
  private let core: RecorderCore

  init(of commit: TapedCommit, for core: RecorderCore) {
    (self.commit, self.core) = (commit, core)
    super.init()
  }

  override func scheduleCall() { core.measure(commit) }
}

extension DispatchContext {
  /// Whether a store's block of a dispatch runs here, and no hook, observer or completion of it.
  fileprivate static func isBlock(of id: DispatchID, on thread: ThreadState) -> Bool {
    var next = thread.run
    while let run = next {
      if run.pointee.dispatchID == id { return run.pointee.isInStore && !thread.isNotice(in: run) }
      next = run.pointee.outer
    }
    guard let context = cause(on: thread), context.dispatch.id == id else { return false }
    return context.owner != nil && !thread.isNotice(in: nil)
  }
}
