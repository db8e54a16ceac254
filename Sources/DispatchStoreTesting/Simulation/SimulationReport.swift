/// What came of one simulation.
public struct SimulationReport: Sendable {
  /// The seed that it was run with.
  public let seed: UInt64
  /// Why it failed; nil where it did not.
  public let failure: SimulationFailure?
  /// How many steps it took.
  public let stepCount: Int
  /// What happened; empty where that was not asked for.
  public let trace: SimulationTrace
  /// Where its order is not the plain one.
  let deviations: [Schedule.Deviation]
}
