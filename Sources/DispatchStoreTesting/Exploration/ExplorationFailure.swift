/// The first failure that an exploration met.
public struct ExplorationFailure: Error, Sendable, CustomStringConvertible {
  /// The simulation that repeats it: `simulation.run(scenario)`.
  public let simulation: Simulation
  /// Why it failed.
  public let failure: SimulationFailure
  /// How many seeds were run until it was found.
  public let runCount: Int
  /// In how many steps the shortest failing schedule that was found differs from the plain one.
  public let switchCount: Int
  /// The steps of that schedule.
  public let trace: SimulationTrace

  /// The seed that fails.
  public var seed: UInt64 { simulation.seed }

  /// The seed, the failure and the trace.
  public var description: String {
    if trace.steps.isEmpty { return "Seed \(seed) fails: \(failure)" }
    return """
      Seed \(seed) fails: \(failure)
      The shortest schedule found that still fails has \(trace.steps.count) steps and differs from the \
      plain one in \(switchCount):
      \(trace)
      """
  }
}
