import Dispatch
import Synchronization

extension ConcurrentPool {
  func drain(isSubstitute: Bool) {
    let thread = ThreadState.current
    let outer = thread.pool
    thread.pool = self
    thread.hasResumedOthers = false
    defer { thread.pool = outer }
    var left = Self.batch
    while left > 0 {
      switch next(isSubstitute, on: thread) {
      case .run(let job): left -= job.run(in: self, on: thread)
      case .suspended: return requeue(isSubstitute, isSuspended: true)
      case .nothing: if isSubstitute ? substituteLeaves() : drainerLeaves(on: thread) { return }
      }
    }
    requeue(isSubstitute, isSuspended: false)
  }

  private enum Next {
    case run(Job)
    /// The queue is suspended, and only starts are left.
    case suspended
    case nothing
  }

  @inline(__always)
  private func next(_ isSubstitute: Bool, on thread: ThreadState) -> Next {
    if hasSteps.load(ordering: .acquiring),
      let step = change(.popStep, { state, _ in state.popStep() })
    {
      return .run(step)
    }
    // Where the queue has become narrower, some have to leave.
    let mayStart =
      isSubstitute
      ? change(.popStart) { $0.standsIn($1) } : drainerCount.load(ordering: .relaxed) <= width
    guard mayStart else { return .nothing }
    yieldPoint(.popStart, on: thread)
    if let job = starts.pop(on: thread, unless: { isHeldBack }) { return .run(job) }
    return isHeldBack && !starts.isEmpty ? .suspended : .nothing
  }

  private var isHeldBack: Bool {
    @inline(__always) get { isSuspended && !isPlanted(.ignoredSuspension) }
  }

  /// Whoever pushes while somebody waits comes by the state, and may find this thread there, which has
  /// looked for a start and not left: so it looks once more.
  private func substituteLeaves() -> Bool {
    guard change(.leavePool, { state, _ in state.leave(isSubstitute: true) }) else { return false }
    yieldPoint(.lookOnceMore)
    if !starts.isEmpty, !isPlanted(.lostSubstitute) {
      reinforce(change(.lookOnceMore) { $0.startPushed(width: $1) })
    }
    return true
  }

  private func drainerLeaves(on thread: ThreadState) -> Bool {
    if linger(on: thread) { return false }
    let (hasLeft, released) = change(.leavePool) { state, _ -> (Bool, Dispatcher?) in
      guard state.leave(isSubstitute: false) else { return (false, nil) }
      return (true, state.drainers == 0 ? busyFor.take() : nil)
    }
    guard hasLeft else { return false }
    atomicMemoryFence(ordering: .sequentiallyConsistent)
    yieldPoint(.lookOnceMore, on: thread)
    guard !starts.isEmpty, !isPlanted(.lostStart) else { return true }
    let (isBack, push) = change(.lookOnceMore) { state, width in
      let isBack = state.reenter(width: width)
      if busyFor == nil, state.drainers > 0 { busyFor = released }
      // Where the queue has become narrower, those who stay may all wait.
      return (isBack, isBack ? .none : state.startPushed(width: width))
    }
    reinforce(push)
    return !isBack
  }

  /// Looks out for something for a few microseconds, where there is nothing else to do.
  func lookOut(on thread: ThreadState, for condition: () -> Bool) -> Bool {
    guard !thread.hasResumedOthers, starts.isEmpty, spinWait.begin(on: thread) else { return false }
    defer { spinWait.end() }
    return SpinWait.wait(nanoseconds: SpinWait.ofLanes, for: condition)
  }

  /// Looks out for work for some microseconds, where nobody else does; whether there is some.
  private func linger(on thread: ThreadState) -> Bool {
    // The system's pool lets a resumed task wait for its thread rather than wake another one.
    guard !thread.hasResumedOthers, spinWait.begin(on: thread) else { return false }
    defer { spinWait.end() }
    guard change(.beginLingering, { $0.beginLingering(width: $1) }) else { return false }
    atomicMemoryFence(ordering: .sequentiallyConsistent)
    if starts.isEmpty { spinWait.waitToBeTold() }
    thread.hasLookedOut =
      change(.endLingering) { state, _ in state.endLingering() } || !starts.isEmpty
    return thread.hasLookedOut
  }

  private func requeue(_ isSubstitute: Bool, isSuspended: Bool) {
    if isSubstitute {
      // Nothing tells a thread beside the queue that the queue goes on: it has to look.
      addSubstitute(after: isSuspended ? Self.pollingInterval : .zero)
    } else {
      // A step that came while this thread was there to take it may now be held by the queue.
      let (push, areStepsHeld) = change(.requeue) { state, width in
        state.drainerRequeues()
        let push = self.isSuspended ? state.queueWasSuspended(width: width) : .none
        return (push, state.areStepsHeld)
      }
      addDrainer()
      reinforce(push, areStepsHeld: areStepsHeld)
    }
  }
}
