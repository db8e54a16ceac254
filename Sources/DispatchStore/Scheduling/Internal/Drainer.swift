import Foundation

/// A plain operation on the queue that takes jobs of the pool.
///
/// It can't be cancelled: whoever cancels all operations of the queue means those of their own. What was
/// dispatched is cancelled by its handle.
final class Drainer: Operation, @unchecked Sendable {
  // because it has nothing that changes
  private let body: @Sendable () -> Void

  init(_ body: @escaping @Sendable () -> Void) {
    self.body = body
  }

  override func main() {
    body()
  }

  override func cancel() {}
}
