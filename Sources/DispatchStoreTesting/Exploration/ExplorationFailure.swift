/// The first failure that an exploration met.
public struct ExplorationFailure: Error, Sendable, CustomStringConvertible {
  /// What repeats it: `simulation.run(scenario)`.
  public let simulation: Simulation
  /// Why it failed.
  public let failure: SimulationFailure
  /// How many seeds were run until it was found.
  public let runCount: Int
  /// How often the shortest schedule that was found and still fails differs from the plain one.
  public let switchCount: Int
  /// What happens in that one.
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
