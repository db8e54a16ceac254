public import DispatchStore
public import Foundation

extension Dispatcher {
  /// The simulation that the dispatcher belongs to.
  ///
  /// Nil if it runs on the system's threads.
  public var simulation: SimulationControl? {
    (world as? World).map(SimulationControl.init)
  }
}

/// Gives a scenario access to the simulation that it runs in: its clock, its random numbers, and faults.
///
/// Use it on the simulation's threads. The seed determines all of it.
public struct SimulationControl: Sendable {
  fileprivate let world: World

  /// The simulation's clock.
  ///
  /// Time passes when no thread can run.
  public var clock: VirtualClock { world.clock }

  /// Makes another dispatcher of the simulation, optionally on the queue of one of its dispatchers.
  public func makeDispatcher(name: String, queue: OperationQueue? = nil) -> Dispatcher {
    world.makeDispatcher(name, queue: queue)
  }

  /// The seed of the world.
  package var seed: UInt64 { world.simulation.seed }

  /// Starts an unstructured task of the simulation, for which nothing waits.
  @discardableResult
  package func startTask(_ body: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
    Task(executorPreference: WorldExecutor(world), operation: body)
  }

  /// Draws a number below `count`.
  ///
  /// - Precondition: `count` is one or more.
  public func draw(below count: Int) -> Int {
    if count <= 0 { stopProgram("There is no number below \(count) to be drawn.") }
    return world.drawInScenario(count)
  }

  /// Runs a closure once, at a moment that the seed draws, on a separate thread of the simulation.
  ///
  /// Use it for faults: cancel a handle, unregister a store, release the last reference to it, suspend the queue. In half
  /// of the seeds it comes before time passes. In the others it comes after a number of steps, and time may have passed:
  /// in the pause of a retry, say, or once all else has ended. The run does not end before the closure has run.
  public func atSomeTime(_ body: @escaping @Sendable () -> Void) {
    world.runAtSomeTime(body)
  }

  /// Runs a closure on a separate thread of the simulation, which starts before time passes.
  package func startThread(_ body: @escaping @Sendable () -> Void) {
    world.run(.job, body)
  }

  /// Throws one time in `count`.
  ///
  /// Call it where an operation may fail.
  ///
  /// - Throws: `InjectedFault`.
  public func failSometimes(oneIn count: Int) throws(InjectedFault) {
    if draw(below: count) == 0 { throw InjectedFault() }
  }

  /// Sleeps on the simulation's clock for a time up to the given one.
  public func delay(upTo longest: Duration) async throws {
    try await clock.sleep(for: longest * draw(below: 1_000) / 1_000)
  }
}

/// A fault that `failSometimes(oneIn:)` threw.
public struct InjectedFault: Error, Hashable, CustomStringConvertible {
  /// A description of the fault.
  public var description: String { "a fault that the simulation injected" }
}
