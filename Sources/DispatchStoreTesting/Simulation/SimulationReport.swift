/// The result of one simulation.
public struct SimulationReport: Sendable {
  /// The seed of the run.
  public let seed: UInt64
  /// Why it failed; nil where it did not.
  public let failure: SimulationFailure?
  /// How many steps it took.
  public let stepCount: Int
  /// The steps of the run; empty where they were not traced.
  public let trace: SimulationTrace
  /// Where the order differs from the plain one.
  let deviations: [Schedule.Deviation]

  /// The report where the library has no yield points, so that nothing was run.
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
