import DispatchStore

/// The options of a world.
struct WorldOptions: Sendable {
  let simulation: Simulation
  let mutant: Mutant?
  let isTraced: Bool
  /// A recorded schedule to repeat, instead of drawing one.
  var deviations: [Schedule.Deviation]?
}
