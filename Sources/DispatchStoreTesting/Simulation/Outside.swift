import Dispatch
import DispatchStore

/// Work from threads outside of a world, and the world's first failure.
final class Outside: Sendable {
  private let state = Locked(State())
  private let entered = DispatchSemaphore(value: 0)

  private struct State {
    var works: [(SimulatedWork, @Sendable () -> Void)] = []
    var failure: SimulationFailure?
  }

  /// Adds work from a thread outside of the world.
  ///
  /// - Parameter isExpected: Whether it is the scenario itself.
  func add(
    _ kind: SimulatedWork, _ body: @escaping @Sendable () -> Void, isExpected: Bool
  ) {
    state.withLockOfProcess { $0.works.append((kind, body)) }
    if isExpected { return }
    noteEntry(
      """
      A task of the simulation was resumed from outside: by an unstructured task, the main actor, a sleep \
      on another clock than the simulation's, or a thread or queue that it uses.
      """)
  }

  func takeWorks() -> [(SimulatedWork, @Sendable () -> Void)] {
    state.withLockOfProcess { state in
      defer { if !state.works.isEmpty { state.works = [] } }
      return state.works
    }
  }

  /// Records a failure, unless one was recorded before.
  func fail(_ kind: SimulationFailure.Kind, _ message: String) {
    state.withLockOfProcess { state in
      if state.failure == nil { state.failure = SimulationFailure(kind: kind, message: message) }
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
    state.withLockOfProcess { state in
      guard let first = state.failure, first.kind == .expectation else { return }
      state.failure = SimulationFailure(
        kind: .expectation, message: "\(first.message)\n\nThen the scenario threw: \(error)")
    }
  }

  var failure: SimulationFailure? { state.withLockOfProcess { $0.failure } }

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
