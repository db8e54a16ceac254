/// The time between the call that makes a dispatch and its start.
///
/// Admission control ends it.
final class DispatchDelay: Sendable {
  let dispatch: Dispatch
  let mode: Dispatcher.Mode
  /// Whether the dispatch may wait.
  ///
  /// False if it would block a system thread for tasks.
  let mayWait: Bool
  /// Whether the dispatch begins: set when its time has come, or when it has ended before.
  private let begins = Eventual<Bool>()

  /// Makes the delay of a dispatch that this thread makes.
  init(of dispatch: Dispatch, in mode: Dispatcher.Mode) {
    (self.dispatch, self.mode) = (dispatch, mode)
    mayWait = !mode.isSync || !ThreadState.current.isTaskThread
  }

  var hasEnded: Bool { begins.valueIfSet == true }

  /// Ends the delay; the dispatch begins elsewhere.
  func end() { begins.set(true) }

  /// Calls a closure when the delay ends.
  ///
  /// If it has ended, calls it at once.
  func whenEnded(_ proceed: @escaping @Sendable () -> Void) {
    begins.whenSet { if $0 { proceed() } }
  }

  /// Drops the delay, because the dispatch does not begin.
  func drop() { begins.set(false) }
}

extension DispatchError {
  /// The error of a dispatch that does not begin because of another one.
  ///
  /// - Parameter reason: The rest of the sentence after "was skipped".
  static func skipped(_ callSite: CallSite, for other: CallSite, _ reason: String) -> DispatchError
  {
    DispatchError(
      code: .skipped, message: "The dispatch at \(callSite) was skipped\(reason).",
      callSites: [callSite, other])
  }

  /// The error of a wait for nothing but time in a task whose thread it would block.
  ///
  /// - Parameter time: The end of the wait, as a clause.
  static func wouldBlockTasks(_ callSite: CallSite, until time: String) -> DispatchError {
    DispatchError(
      code: .wouldDeadlock,
      message: """
        The dispatch at \(callSite) would block one of the system's threads for tasks until \(time), for which the clock \
        may need such a thread: send it.
        """,
      callSites: [callSite])
  }
}

/// The delayed dispatches of a dispatcher.
final class DelayedDispatches: DispatcherAttachment {
  private let pool: ConcurrentPool
  private let state = Locked(State())

  typealias Start = @Sendable () -> Void
  /// With the actions of each dispatch.
  typealias Delays = [DispatchID: (delay: DispatchDelay, subject: DispatchSubject)]

  private struct State {
    var delays: Delays = [:]
    /// By the hash of its key, for each lane in which one begins: the starts that wait for that.
    var starts: [Int: FIFO<Start>] = [:]
  }

  init(on pool: ConcurrentPool) { self.pool = pool }

  var all: Delays { state.withLock(\.delays) }
  var count: Int { state.withLock(\.delays.count) }
  /// Whether the time of one has come, and it has not begun.
  var isAnyDue: Bool { state.withLock { $0.delays.values.contains { $0.delay.hasEnded } } }

  func insert(_ delay: DispatchDelay, _ subject: DispatchSubject) {
    state.withLock { $0.delays[delay.dispatch.id] = (delay, subject) }
    pool.continuations?.changed()
  }

  func remove(_ id: DispatchID) {
    state.withLockReleasing { $0.delays.removeAndShrink(id) }
    pool.continuations?.changed()
  }

  /// Begins a dispatch of a lane on the concurrent queue, after those of that lane whose delays have ended before.
  ///
  /// One after the other, since two threads could enter the lane in the wrong order. One whose hook blocks lets the next
  /// one begin, for which it may wait.
  func begin(in lane: TypedKey, _ start: @escaping Start) {
    let hash = lane.hash
    let isOnly = state.withLock { state in
      if state.starts[hash]?.append(start) != nil { return false }
      state.starts[hash] = FIFO()
      return true
    }
    if isOnly { run(start, hash) }
  }

  private func run(_ start: @escaping Start, _ hash: Int) {
    pool.resume {
      let turn = StartTurn { self.startNext(hash) }
      ThreadState.current.hold(turn, start)
    }
  }

  private func startNext(_ hash: Int) {
    let next = state.withLock { state -> Start? in
      let next = state.starts[hash]?.popFirst()
      if next == nil { state.starts[hash] = nil }
      return next
    }
    if let next { run(next, hash) }
  }
}

/// The turn of a dispatch that begins after its delay; used by one thread.
private final class StartTurn: LaneTurn {
  private var startNext: (() -> Void)?

  init(_ startNext: @escaping () -> Void) { self.startNext = startNext }

  func leave() { startNext.take()?() }
}

extension Dispatcher {
  var delayedDispatches: DelayedDispatches { attachment(orAdd: DelayedDispatches(on: pool)) }
}
