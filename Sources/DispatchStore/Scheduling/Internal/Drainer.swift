import Foundation

/// The plain operation on the queue in which a pool's worker runs.
///
/// `cancel()` does nothing: a user who cancels all operations of the queue means the user's operations.
/// Handles cancel dispatches.
final class Drainer: Operation, @unchecked Sendable {
  // because its superclass is, and it adds a constant
  private let body: @Sendable () -> Void

  init(_ body: @escaping @Sendable () -> Void) {
    self.body = body
  }

  override func main() {
    body()
  }

  override func cancel() {}
}
