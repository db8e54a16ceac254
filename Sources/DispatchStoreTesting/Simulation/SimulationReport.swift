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

  /// Nothing was run.
  static func unavailable(seed: UInt64) -> SimulationReport {
    SimulationReport(
      seed: seed,
      failure: SimulationFailure(
        kind: .unavailable,
        message: """
          DispatchStore was built without the steps that a simulation needs. Build for debugging, or with \
          the package's trait "Simulation".
          """),
      stepCount: 0, trace: SimulationTrace(), deviations: [])
  }
}
