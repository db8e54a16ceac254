public import Foundation

/// The floors with which the dispatcher is compared.
public enum Floors {
  /// A bare queue of operations.
  public static func operationQueue(width: Int) -> OperationQueue {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = width
    return queue
  }

  /// A bare queue of closures, one at a time.
  public static func dispatchQueue() -> DispatchQueue {
    DispatchQueue(label: "benchmark.floor")
  }

  /// Creates an operation object and releases it.
  @inline(never)
  public static func createOperation() {
    _ = Operation()
  }

  /// Creates an operation with a block, and runs it on the caller's thread.
  @inline(never)
  public static func startOperation(_ block: @escaping @Sendable () -> Void) {
    BlockOperation(block: block).start()
  }
}
