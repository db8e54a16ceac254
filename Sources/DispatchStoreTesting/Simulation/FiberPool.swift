import DispatchStore

/// A pool of threads that worlds use one after the other.
final class FiberPool: Sendable {
  private let state = Locked((spare: [Fiber](), isClosed: false))

  func take() -> Fiber {
    state.withLockOfProcess { $0.spare.popLast() } ?? Fiber(of: self)
  }

  /// Takes a thread back.
  ///
  /// Returns false if the pool is closed, so that the thread must end.
  func put(_ fiber: Fiber) -> Bool {
    state.withLockOfProcess { state in
      if !state.isClosed { state.spare.append(fiber) }
      return !state.isClosed
    }
  }

  /// Ends the pool's threads, except those that a stalled world has left blocked.
  func close() {
    let fibers = state.withLockOfProcess { state in
      state.isClosed = true
      defer { state.spare = [] }
      return state.spare
    }
    for fiber in fibers { fiber.retire() }
  }
}
