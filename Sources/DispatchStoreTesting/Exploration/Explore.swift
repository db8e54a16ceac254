public import DispatchStore
import Foundation

/// Runs a scenario under many seeds, and throws the first failure, made as short as it can be found.
///
/// Worlds run side by side, one for each processor; progress goes to standard error where it takes more
/// than some seconds. Where the environment has `DISPATCHSTORE_SEED`, only that seed is run.
///
/// - Parameters:
///   - seeds: What to draw the orders from.
///   - order: How they are drawn.
///   - stepLimit: A run that takes more steps fails.
///   - width: How many actions the dispatcher's queue runs at once.
///   - scenario: Called for each seed, with a dispatcher of a world of its own; it fails by throwing.
/// - Throws: `ExplorationFailure`.
public func explore(
  seeds: Range<UInt64>, order: SimulationOrder = .mixed, stepLimit: Int = 100_000, width: Int = 2,
  _ scenario: @escaping @Sendable (Dispatcher) async throws -> Void
) async throws(ExplorationFailure) {
  let explorer = Explorer(
    Simulation(seed: 0, order: order, stepLimit: stepLimit, width: width), scenario)
  let asked = ProcessInfo.processInfo.environment["DISPATCHSTORE_SEED"].flatMap(UInt64.init)
  let seeds = asked.map { $0..<$0 + 1 } ?? seeds
  let progress = ExplorationProgress(of: seeds.count)
  if let failure = await onThread({ explorer.explore(seeds) { progress.show($0) } }) {
    throw failure
  }
}
