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
  private let state = Locked(State.waiting(nil))

  private enum State {
    /// Can become ended or dropped. Holds the continuation, once that is known.
    case waiting(Continuation?)
    /// The time has passed. Holds the actions, if the continuation was known.
    case ended(DispatchSubject?)
    /// The dispatch ended before.
    case dropped
  }

  private struct Continuation {
    let subject: DispatchSubject
    let proceed: @Sendable () -> Void
  }

  /// Makes the delay of a dispatch that this thread makes.
  init(of dispatch: Dispatch, in mode: Dispatcher.Mode) {
    (self.dispatch, self.mode) = (dispatch, mode)
    mayWait = !mode.isSync || !ThreadState.current.isTaskThread
  }

  var hasEnded: Bool {
    state.withLock { if case .ended = $0 { true } else { false } }
  }

  /// The actions of the dispatch; nil if it is about to wait, or is not to begin.
  var subject: DispatchSubject? {
    state.withLock { state in
      switch state {
      case .waiting(let continuation): continuation?.subject
      case .ended(let subject): subject
      case .dropped: nil
      }
    }
  }

  /// Ends the delay; the dispatch begins elsewhere.
  func end() {
    let continuation = state.withLock { state -> Continuation? in
      guard case .waiting(let continuation) = state else { return nil }
      state = .ended(continuation?.subject)
      return continuation
    }
    continuation?.proceed()
  }

  /// Calls a closure when the delay ends.
  ///
  /// If it has ended, calls it at once.
  func whenEnded(_ subject: DispatchSubject, _ proceed: @escaping @Sendable () -> Void) {
    let hasEnded = state.withLock { state in
      if case .waiting = state {
        state = .waiting(Continuation(subject: subject, proceed: proceed))
      }
      if case .ended = state { return true }
      return false
    }
    if hasEnded { proceed() }
  }

  /// Drops the delay, because the dispatch does not begin.
  func drop() {
    state.withLockReleasing { state -> State in
      defer { if case .waiting = state { state = .dropped } }
      return state
    }
  }
}

extension DispatchError {
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

  private struct State {
    var delays: [DispatchID: DispatchDelay] = [:]
    /// By the hash of its key, for each lane in which one begins: the starts that wait for that.
    var starts: [Int: FIFO<Start>] = [:]
  }

  init(on pool: ConcurrentPool) { self.pool = pool }

  var all: [DispatchDelay] { state.withLock { Array($0.delays.values) } }
  var count: Int { state.withLock(\.delays.count) }
  /// Whether the time of one has come, and it has not begun.
  var isAnyDue: Bool { state.withLock { $0.delays.values.contains(where: \.hasEnded) } }

  func insert(_ delay: DispatchDelay, _ id: DispatchID) {
    state.withLock { $0.delays[id] = delay }
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
