import BenchmarkSupport
import DispatchStore

/// Producers on separate threads that do not wait for their actions.
///
/// The time goes from their common start until all actions have run: plain reductions, without a
/// completion.
struct Throughput {
  static let producers = [1, 2, 4, 8, 64]
  // Among 64 producers, or 8 stores, whole bursts for each.
  private static let least = 64 * BurstGate.size

  private let mode: PlottedMode
  private let effort: Effort

  init(_ mode: PlottedMode, _ effort: Effort) {
    self.mode = mode
    self.effort = effort
  }

  /// One point for each number of producers; the numbers alternate.
  ///
  /// A producer dispatches to one store; where there are more producers than stores, they share them.
  func measure(stores: Int) -> [ThroughputPoint] {
    let fixture = TaggedFixture(stores: stores)
    let count = enough(fixture)
    var rates = Array(repeating: [Double](), count: Self.producers.count)
    for round in 1...effort.rounds {
      for (index, producers) in Self.producers.enumerated() {
        Progress.note(
          "\(mode.title): throughput, \(stores) stores, round \(round) of \(effort.rounds)")
        let nanoseconds = nanoseconds(count, producers: producers, fixture)
        rates[index].append(Double(count) * 1e9 / nanoseconds)
      }
    }
    return zip(Self.producers, rates).map {
      ThroughputPoint(producers: $0, rate: Quartiles($1))
    }
  }

  private func enough(_ fixture: TaggedFixture) -> Int {
    var count = Self.least
    while nanoseconds(count, producers: 1, fixture) < effort.throughputSeconds * 1e9 { count *= 2 }
    return count
  }

  private func nanoseconds(_ count: Int, producers: Int, _ fixture: TaggedFixture) -> Double {
    let each = count / producers
    let used = min(producers, fixture.producers.count)
    return Producers.nanoseconds(producers) { producer in
      let dispatch = fixture.producers[producer % used]
      for index in (producer * each)..<((producer + 1) * each) { dispatch(1, mode.mode(index)) }
    } end: {
      for gate in fixture.gates[..<used] { gate.wait(forAll: count / used) }
    }
  }
}
