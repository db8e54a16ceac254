import Foundation
import Synchronization

/// The operation on the queue in which a pool's worker runs.
///
/// The operation can end before its thread does. If the worker waits inside the library, the queue runs its next
/// operation: another drainer, of any dispatcher, or a user's operation. `cancel()` does nothing, since a user who
/// cancels all operations of the queue means the user's own. Handles cancel dispatches.
final class Drainer: Operation, @unchecked Sendable {
  // because its superclass is, and the properties that it adds are constant or atomic
  private let body: @Sendable (Drainer) -> Void
  private let phase = Atomic(Phase.queued.rawValue)

  private enum Phase: Int {
    case queued, running, ended
  }

  init(_ body: @escaping @Sendable (Drainer) -> Void) {
    self.body = body
  }

  override var isAsynchronous: Bool { true }
  override var isExecuting: Bool { phase.load(ordering: .acquiring) == Phase.running.rawValue }
  override var isFinished: Bool { phase.load(ordering: .acquiring) == Phase.ended.rawValue }

  override func start() {
    willChangeValue(forKey: "isExecuting")
    phase.store(Phase.running.rawValue, ordering: .releasing)
    didChangeValue(forKey: "isExecuting")
    body(self)
    end()
  }

  /// Ends the operation, unless it has ended: its thread no longer has a place of the queue.
  func end() {
    guard !isFinished else { return }
    willChangeValue(forKey: "isExecuting")
    willChangeValue(forKey: "isFinished")
    phase.store(Phase.ended.rawValue, ordering: .releasing)
    didChangeValue(forKey: "isExecuting")
    didChangeValue(forKey: "isFinished")
  }

  override func cancel() {}
}
