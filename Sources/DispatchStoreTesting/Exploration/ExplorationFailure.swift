/// The first failure that an exploration met.
public struct ExplorationFailure: Error, Sendable, CustomStringConvertible {
  /// The simulation with the seed that fails: `simulation.run(scenario)` repeats it, in the seed's own schedule.
  public let simulation: Simulation
  /// The failure in the plainest schedule found: the one that differs from the plain one in the fewest steps.
  ///
  /// That of `simulation` is of the same kind. It may name other numbers or, for a stall, other waits.
  public let failure: SimulationFailure
  /// The number of seeds that were run until it was found.
  public let runCount: Int
  /// The number of steps in which the plainest failing schedule found differs from the plain one.
  package let switchCount: Int
  /// The steps of the plainest failing schedule found; for a run that took too many steps, its own.
  public let trace: SimulationTrace

  /// The seed that fails.
  public var seed: UInt64 { simulation.seed }

  /// The seed, the failure and the trace.
  public var description: String {
    if trace.steps.isEmpty { return "Seed \(seed) fails: \(failure)" }
    if failure.kind == .tooLong { return "Seed \(seed) fails: \(failure)\nIts steps:\n\(trace)" }
    return """
      Seed \(seed) fails: \(failure)
      The plainest schedule found that still fails has \(trace.steps.count) steps and differs from the \
      plain one in \(switchCount):
      \(trace)
      """
  }
}
