import Dispatch
import DispatchStore
import Foundation

/// What comes to a world from threads that are not of it, and how the world has failed.
final class Outside: @unchecked Sendable {  // because `lock` guards what changes
  private let lock = NSLock()
  private var works: [(SimulatedWork, @Sendable () -> Void)] = []
  private var firstFailure: SimulationFailure?
  private let entered = DispatchSemaphore(value: 0)

  /// - Parameter isExpected: Whether it is the scenario itself.
  func add(
    _ kind: SimulatedWork, _ body: @escaping @Sendable () -> Void, isExpected: Bool
  ) {
    lock.withLock { works.append((kind, body)) }
    if isExpected { return }
    noteEntry(
      """
      A task of the simulation was resumed from outside: by an unstructured task, the main actor, a sleep \
      on another clock than the simulation's, or a thread or queue of its own.
      """)
  }

  func takeWorks() -> [(SimulatedWork, @Sendable () -> Void)] {
    lock.withLock {
      defer { if !works.isEmpty { works = [] } }
      return works
    }
  }

  /// The first failure counts.
  func fail(_ kind: SimulationFailure.Kind, _ message: String) {
    lock.withLock {
      if firstFailure == nil { firstFailure = SimulationFailure(kind: kind, message: message) }
    }
  }

  /// What a test store in the scenario says.
  @Sendable func note(_ failure: TestFailure) {
    guard failure.severity == .failure else { return }
    fail(.expectation, "\(failure.place.fileID):\(failure.place.line): \(failure.message)")
  }

  var failure: SimulationFailure? { lock.withLock { firstFailure } }

  /// A thread that is not of the world takes part in it.
  func noteEntry(_ description: String) {
    fail(.leftWorld, description)
    entered.signal()
  }

  /// Waits some time for that.
  func awaitEntry(milliseconds: Int) {
    _ = entered.wait(timeout: .now() + .milliseconds(milliseconds))
  }
}
