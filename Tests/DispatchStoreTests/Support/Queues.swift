import Foundation

extension OperationQueue {
  /// A queue of so many operations at once.
  static func wide(_ width: Int) -> OperationQueue {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = width
    return queue
  }
}

extension Operation {
  /// An operation that a queue can't start before this is called on it.
  static func held(by latch: Latch) -> BlockOperation {
    BlockOperation { latch.wait() }
  }
}
