/// The result of a simulation.
public struct SimulationReport: Sendable {
  /// The seed of the run.
  public let seed: UInt64
  /// The failure, or nil if there was none.
  public let failure: SimulationFailure?
  /// The number of steps of the run.
  public let stepCount: Int
  /// The steps of the run.
  ///
  /// Empty if they were not traced.
  public let trace: SimulationTrace
  /// The choices in which the order differs from the plain one.
  let deviations: [Schedule.Deviation]

  /// Returns the report for a library without yield points, in which nothing was run.
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
