import DispatchStore

/// The options of a world.
struct WorldOptions: Sendable {
  var seed: UInt64
  var order: SimulationOrder
  var stepLimit: Int
  var width: Int
  var switchesAtLocks = false
  var isTraced = false
  /// A recorded schedule to repeat, instead of drawing one.
  var deviations: [Schedule.Deviation]?
  var mutant: Mutant?
}
