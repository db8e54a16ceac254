public import DispatchStore
import Foundation

/// Runs a scenario under many seeds, and throws the first failure with the plainest schedule found.
///
/// Worlds run in parallel, one for each processor. An exploration of more than a few seconds writes its progress to
/// standard error. If the environment has `DISPATCHSTORE_SEED`, only that seed is run.
///
/// - Parameters:
///   - seeds: The seeds from which the orders are drawn.
///   - order: The way in which orders are drawn.
///   - stepLimit: The maximum number of steps. A run that takes more fails.
///   - width: The number of actions that the dispatcher's queue runs at once.
///   - scenario: Called for each seed, with a dispatcher of a new world. It fails by throwing.
///   - fileID: The caller's file, for what is written to standard error.
///   - line: The caller's line.
/// - Throws: `ExplorationFailure`. If the task is cancelled, it returns early without an error, and writes to standard
///   error how many seeds were run.
/// - Precondition: There are seeds.
public func explore(
  seeds: Range<UInt64>, order: SimulationOrder = .mixed, stepLimit: Int = 100_000, width: Int = 2,
  _ scenario: @escaping @Sendable (Dispatcher) async throws -> Void,
  fileID: StaticString = #fileID, line: UInt = #line
) async throws(ExplorationFailure) {
  if seeds.isEmpty {
    stopProgram("There is no seed in \(seeds) to explore. Pass a range that has one.")
  }
  var simulation = Simulation(seed: 0, order: order, stepLimit: stepLimit, width: width)
  simulation.place = (fileID, line)
  let explorer = Explorer(simulation, scenario)
  let seeds = seedOfEnvironment ?? seeds
  let search = SeedSearch(seeds)
  let progress = ExplorationProgress(
    simulation.name(of: "explore"), of: Int(clamping: seeds.upperBound - seeds.lowerBound))
  let failure = await withTaskCancellationHandler {
    await onThread { explorer.explore(search) { progress.show($0) } }
  } onCancel: {
    search.close()
  }
  if let failure { throw failure }
  if search.isCutShort { progress.noteCancellation(after: search.count) }
}

/// The seed that the environment names, if any.
private var seedOfEnvironment: Range<UInt64>? {
  guard let text = ProcessInfo.processInfo.environment["DISPATCHSTORE_SEED"] else { return nil }
  guard let seed = UInt64(text), seed < .max else {
    stopProgram(
      "DISPATCHSTORE_SEED is \"\(text)\", which is no seed: it has to be a number.")
  }
  return seed..<seed + 1
}
