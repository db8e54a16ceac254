/// A line of the table: a path, what it is compared with, and what it may cost at most.
struct Row: Sendable {
  let path: String
  /// What the floor is, in words; empty where the bound is absolute.
  let floor: String
  let bound: Bound
  /// Takes one sample a round, after a round that does not count.
  let measure: @Sendable (_ rounds: Int) -> [Sample]

  init(
    _ path: String, floor: String = "", bound: Bound,
    measure: @escaping @Sendable (_ rounds: Int) -> [Sample]
  ) {
    self.path = path
    self.floor = floor
    self.bound = bound
    self.measure = measure
  }

  /// All rows, in the order of the table.
  static var all: [Row] {
    SyncRows.all + SerialRows.all + AsyncRows.all + ChainRows.all + AwaitRows.all + SendRows.all
      + ManyStoresRows.all + LaneRows.all + LatencyRows.all + RegistryRows.all + WaitForRows.all
      + MemoryRows.all + DeadlineRows.all + StreamRows.all + ObserverRows.all
      + ControlRows.all + SelectorRows.all + ElementRows.all + RecordingRows.all + ReadRows.all
      + ContentionRows.all
  }
}
