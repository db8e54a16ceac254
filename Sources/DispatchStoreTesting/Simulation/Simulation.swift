public import DispatchStore
import Foundation

/// A world in which dispatchers run one step at a time, in an order that a seed determines.
///
/// The same seed gives the same steps in the same order each time, in every build and on every machine. The scenario
/// must depend on nothing else: no time of day, addresses, hash order, or threads and tasks outside of the world.
///
/// Child tasks, `async let`, default actors and sleeps on the simulation's clock belong to the world. Unstructured
/// tasks and the main actor do not, and a dispatch from there fails the run.
public struct Simulation: Sendable {
  /// The seed from which the order is drawn.
  public var seed: UInt64
  /// The way in which the order is drawn.
  public var order: SimulationOrder
  /// The maximum number of steps.
  ///
  /// A run that takes more fails.
  public var stepLimit: Int
  /// The number of actions that the dispatcher's queue runs at once, unless the scenario sets it.
  public var width: Int
  /// Whether threads switch before each lock of the library, too.
  ///
  /// Slower, and not for a scenario that calls the library under a lock of its own, for which other threads would block.
  package var switchesAtLocks = false
  /// The call that runs it, for what is written to standard error.
  var place: (fileID: StaticString, line: UInt)?

  /// Makes a simulation, to be run.
  public init(
    seed: UInt64, order: SimulationOrder = .mixed, stepLimit: Int = 100_000, width: Int = 2
  ) {
    self.seed = seed
    self.order = order
    self.stepLimit = stepLimit
    self.width = width
  }

  /// Runs a scenario in a new world, with a trace.
  ///
  /// - Parameters:
  ///   - scenario: Called with a dispatcher of that world. The run ends when it has returned and no work is left.
  ///   - fileID: The caller's file, for what is written to standard error if the run crashes or takes very long.
  ///   - line: The caller's line.
  public func run(
    _ scenario: @escaping @Sendable (Dispatcher) async throws -> Void,
    fileID: StaticString = #fileID, line: UInt = #line
  ) async -> SimulationReport {
    var simulation = self
    simulation.place = (fileID, line)
    return await onThread { [simulation] in simulation.runHere(scenario) }
  }

  /// Runs a scenario in a new world, with a trace, and blocks the calling thread.
  package func runHere(
    mutant: Mutant? = nil, _ scenario: @escaping @Sendable (Dispatcher) async throws -> Void
  ) -> SimulationReport {
    CrashNote.install()
    let watch = RunWatch(name(of: "a simulation"))
    return watch.wait(for: {
      let pool = FiberPool()
      defer { pool.close() }
      let world = World(self, mutant: mutant, isTraced: true, on: pool)
      return watch.run(seed) { world.run(scenario) }
    })
  }

  /// Returns the name of a call, with its place if that is known.
  func name(of call: String) -> String {
    place.map { "\(call) at \($0.fileID):\($0.line)" } ?? call
  }
}

/// Runs a closure that blocks on a new thread.
func onThread<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
  let end = Awaited<Value?>(nil)
  await withUnsafeContinuation { continuation in
    Thread.detachNewThread {
      let value = body()
      end.change { $0 = value }
      continuation.resume()
    }
  }
  // Read under the lock, not passed through the continuation, because Thread Sanitizer understands the lock.
  return end.read { $0! }
}
