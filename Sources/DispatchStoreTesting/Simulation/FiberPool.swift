import Foundation

/// A pool of threads that worlds use one after the other.
final class FiberPool: @unchecked Sendable {  // because `lock` guards its state
  private let lock = NSLock()
  private var spare: [Fiber] = []
  private var isClosed = false

  func take() -> Fiber {
    lock.withLock { spare.popLast() } ?? Fiber(of: self)
  }

  /// Takes a thread back.
  ///
  /// Returns false if the pool is closed, so that the thread must end.
  func put(_ fiber: Fiber) -> Bool {
    lock.withLock {
      if !isClosed { spare.append(fiber) }
      return !isClosed
    }
  }

  /// Ends the pool's threads, except those that a stalled world has left blocked.
  func close() {
    let fibers = lock.withLock {
      isClosed = true
      defer { spare = [] }
      return spare
    }
    for fiber in fibers { fiber.retire() }
  }
}
