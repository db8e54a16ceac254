import Dispatch
import DispatchStore
import Foundation

/// Work from threads outside of a world, and the world's first failure.
final class Outside: @unchecked Sendable {  // because `lock` guards its state
  private let lock = NSLock()
  private var works: [(SimulatedWork, @Sendable () -> Void)] = []
  private var firstFailure: SimulationFailure?
  private let entered = DispatchSemaphore(value: 0)

  /// Adds work from a thread outside of the world.
  ///
  /// - Parameter isExpected: Whether it is the scenario itself.
  func add(
    _ kind: SimulatedWork, _ body: @escaping @Sendable () -> Void, isExpected: Bool
  ) {
    lock.withLock { works.append((kind, body)) }
    if isExpected { return }
    noteEntry(
      """
      A task of the simulation was resumed from outside: by an unstructured task, the main actor, a sleep \
      on another clock than the simulation's, or a thread or queue that it uses.
      """)
  }

  func takeWorks() -> [(SimulatedWork, @Sendable () -> Void)] {
    lock.withLock {
      defer { if !works.isEmpty { works = [] } }
      return works
    }
  }

  /// Records a failure, unless one was recorded before.
  func fail(_ kind: SimulationFailure.Kind, _ message: String) {
    lock.withLock {
      if firstFailure == nil { firstFailure = SimulationFailure(kind: kind, message: message) }
    }
  }

  /// Records a failure of a test store in the scenario.
  @Sendable func note(_ failure: TestFailure) {
    guard failure.severity == .failure else { return }
    fail(.expectation, "\(failure.place.fileID):\(failure.place.line): \(failure.message)")
  }

  /// Records an error that the scenario threw.
  ///
  /// The error may have released a test store, which then has reported what was not asserted: the failure shows both.
  func noteThrown(_ error: String) {
    fail(.threw, error)
    lock.withLock {
      guard let first = firstFailure, first.kind == .expectation else { return }
      firstFailure = SimulationFailure(
        kind: .expectation, message: "\(first.message)\n\nThen the scenario threw: \(error)")
    }
  }

  var failure: SimulationFailure? { lock.withLock { firstFailure } }

  /// Fails the run because a thread outside of the world takes part in it.
  func noteEntry(_ description: String) {
    fail(.leftWorld, description)
    entered.signal()
  }

  /// Blocks until a thread from outside comes, up to a time limit.
  func awaitEntry(milliseconds: Int) {
    _ = entered.wait(timeout: .now() + .milliseconds(milliseconds))
  }
}
