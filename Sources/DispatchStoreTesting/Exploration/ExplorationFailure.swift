/// The first failure that an exploration met.
public struct ExplorationFailure: Error, Sendable, CustomStringConvertible {
  /// The seed that fails; `Simulation(seed:)` repeats it.
  public let seed: UInt64
  /// Why it failed.
  public let failure: SimulationFailure
  /// How many seeds were run until it was found.
  public let runCount: Int
  /// How often the shortest schedule that was found and still fails differs from the plain one.
  public let switchCount: Int
  /// What happens in that one.
  public let trace: SimulationTrace

  /// The seed, the failure and the trace.
  public var description: String {
    """
    Seed \(seed) fails: \(failure)
    The shortest schedule found that still fails has \(trace.steps.count) steps and differs from the \
    plain one in \(switchCount):
    \(trace)
    """
  }
}
