import DispatchStore

/// What a world is made with.
struct WorldOptions: Sendable {
  var seed: UInt64
  var order: SimulationOrder
  var stepLimit: Int
  var width: Int
  var isTraced = false
  /// A schedule to be followed rather than drawn.
  var deviations: [Schedule.Deviation]?
  var mutant: Mutant?
}
