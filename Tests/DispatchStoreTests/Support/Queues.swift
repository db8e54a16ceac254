import Foundation

extension OperationQueue {
  /// A queue of so many operations at once.
  static func wide(_ width: Int) -> OperationQueue {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = width
    return queue
  }
}

extension OperationQueue {
  /// Adds several operations, also from an `async` test; waits for none.
  func add(_ operations: Operation...) {
    for operation in operations { addOperation(operation) }
  }
}
