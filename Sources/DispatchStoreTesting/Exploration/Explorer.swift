package import DispatchStore
import Foundation

/// Runs a scenario under many seeds, on several threads, and shortens the first failure.
package struct Explorer: Sendable {
  package var simulation: Simulation
  package var mutant: Mutant?
  /// The maximum number of runs to spend on shortening a failing schedule.
  package var shorteningLimit = 300
  /// The same for a schedule that stalls, since each such run keeps its threads for ever.
  private static let stallLimit = 50
  /// The number of steps after which shortening begins no further run.
  private static let shorteningSteps = 20_000_000
  package var scenario: @Sendable (Dispatcher) async throws -> Void
  private let watch: RunWatch

  package init(
    _ simulation: Simulation, mutant: Mutant? = nil,
    _ scenario: @escaping @Sendable (Dispatcher) async throws -> Void
  ) {
    self.simulation = simulation
    self.mutant = mutant
    self.scenario = scenario
    watch = RunWatch(simulation.name(of: "explore"))
  }

  /// Explores seeds in order until one fails.
  ///
  /// Blocks the calling thread.
  ///
  /// - Parameter onProgress: Called about ten times a second with the number of seeds run so far, until one has failed.
  package func explore(
    _ search: SeedSearch, onProgress: (Int) -> Void = { _ in }
  ) -> ExplorationFailure? {
    CrashNote.install()
    return watch.wait {
      if search.firstFailure == nil { onProgress(search.count) }
    } for: {
      runSeeds(of: search)
      return search.firstFailure.map { shorten($0.seed, $0.failure, of: search) }
    }
  }

  private func runSeeds(of search: SeedSearch) {
    let group = DispatchGroup()
    for worker in 0..<ProcessInfo.processInfo.activeProcessorCount {
      group.enter()
      Thread.detachNewThread {
        Processor.pin(to: worker)
        let pool = FiberPool()
        while let seed = search.next() {
          let report = run(seed, on: pool)
          search.ended(seed, report.failure)
        }
        pool.close()
        group.leave()
      }
    }
    group.wait()
  }

  /// Runs one seed on the threads of a pool.
  func run(
    _ seed: UInt64, as deviations: [Schedule.Deviation]? = nil, isTraced: Bool = false,
    on pool: FiberPool
  ) -> SimulationReport {
    let world = World(
      simulation(seed), mutant: mutant, isTraced: isTraced, as: deviations, on: pool)
    return watch.run(seed) { world.run(scenario) }
  }

  private func shorten(
    _ seed: UInt64, _ former: SimulationFailure, of search: SeedSearch
  ) -> ExplorationFailure {
    let runs = search.count
    let pool = FiberPool()
    defer { pool.close() }
    let first = run(seed, isTraced: former.kind == .tooLong, on: pool)
    guard let failure = first.failure else {
      return ExplorationFailure(
        simulation: simulation(seed), failure: Self.unrepeatable(former), runCount: runs,
        switchCount: 0,
        trace: SimulationTrace())
    }
    // Each further run would take as many steps, and the end of this one shows where it goes round.
    if failure.kind == .tooLong {
      return ExplorationFailure(
        simulation: simulation(seed), failure: failure, runCount: runs,
        switchCount: first.deviations.count, trace: first.trace)
    }
    var left = failure.kind == .stalled ? min(Self.stallLimit, shorteningLimit) : shorteningLimit
    var stepsLeft = Self.shorteningSteps
    let shortest = Shortening.shorten(first.deviations) { deviations in
      guard left > 0, stepsLeft > 0, !search.isOver else { return nil }
      let report = run(seed, as: deviations, on: pool)
      left -= 1
      stepsLeft -= report.stepCount
      return report.failure?.isLike(failure) == true
    }
    let report = run(seed, as: shortest, isTraced: true, on: pool)
    return ExplorationFailure(
      simulation: simulation(seed), failure: report.failure ?? failure, runCount: runs,
      switchCount: report.deviations.count, trace: report.trace)
  }

  private func simulation(_ seed: UInt64) -> Simulation {
    var simulation = simulation
    simulation.seed = seed
    return simulation
  }

  private static func unrepeatable(_ failure: SimulationFailure) -> SimulationFailure {
    SimulationFailure(
      kind: .leftWorld,
      message: """
        The scenario failed once, and passed when the same seed was run again: it depends on more than the \
        seed, such as the time of day, Task.sleep, hash order, global state or threads that it creates. It failed \
        with: \
        \(failure.message)
        """)
  }
}
