import DispatchStore

/// A mode with its names.
struct PlottedMode: Sendable {
  // Actions go to the lanes in turn.
  private static let lanes = 10_000

  /// The plot's file, without its extension.
  let fileName: String
  /// The name in the documentation.
  let title: String
  /// The mode for the action of a number.
  let mode: @Sendable (_ index: Int) -> Dispatcher.Mode

  static let all = [
    PlottedMode(fileName: "sync", title: ".sync") { _ in .sync },
    PlottedMode(fileName: "serial", title: ".serial") { _ in .serial },
    PlottedMode(fileName: "lanes", title: ".serial(lane:)") {
      .serial(lane: $0 % lanes)
    },
    PlottedMode(fileName: "async", title: ".async") { _ in .async },
    PlottedMode(fileName: "main-thread", title: ".mainThread") { _ in .mainThread },
  ]

  /// Measures everything that is plotted.
  func measure(_ effort: Effort) -> ModeResult {
    let loaded = LoadedMode(self, effort)
    let throughput = Throughput(self, effort)
    return ModeResult(
      mode: self, capacity: loaded.capacity, latencies: loaded.measure(),
      throughputToOneStore: throughput.measure(stores: 1),
      throughputToEightStores: throughput.measure(stores: 8))
  }
}
