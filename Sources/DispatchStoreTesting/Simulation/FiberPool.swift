import Foundation

/// Threads for worlds, to be used by one after the other.
final class FiberPool: @unchecked Sendable {  // because `lock` guards what changes
  private let lock = NSLock()
  private var spare: [Fiber] = []
  private var isClosed = false

  func take() -> Fiber {
    lock.withLock { spare.popLast() } ?? Fiber(of: self)
  }

  /// False where the thread is to end.
  func put(_ fiber: Fiber) -> Bool {
    lock.withLock {
      if !isClosed { spare.append(fiber) }
      return !isClosed
    }
  }

  /// Its threads end; not those that a world has left stuck.
  func close() {
    let fibers = lock.withLock {
      isClosed = true
      defer { spare = [] }
      return spare
    }
    for fiber in fibers { fiber.retire() }
  }
}
