import BenchmarkSupport
import DispatchStore

/// A mode's latencies in an open loop, at several loads.
///
/// One thread dispatches plain reductions to one store, each with a completion that notes the time.
struct LoadedMode {
  static let loads = [0.1, 0.25, 0.5, 0.75, 0.9]

  /// How many actions per second the same thread completes when it dispatches without a pause, at most two
  /// bursts ahead of the store.
  let capacity: Quartiles
  private let mode: PlottedMode
  private let effort: Effort
  private let fixture: Fixture<Add>

  init(_ mode: PlottedMode, _ effort: Effort) {
    self.mode = mode
    self.effort = effort
    fixture = Fixture(PlainReducer())
    Progress.note("\(mode.title): capacity")
    var rates: [Double] = []
    var count = 10 * BurstGate.size
    while true {
      let rate = Self.rate(count, mode, fixture)
      if Double(count) / rate < effort.arrivalSeconds / 2 {
        count *= 2
      } else {
        rates.append(rate)
        if rates.count == effort.rounds { break }
      }
    }
    capacity = Quartiles(rates)
  }

  /// One point for each load; the loads alternate, so that a disturbance affects all of them.
  func measure() -> [LatencyPoint] {
    var latencies = Array(repeating: [Latencies](), count: Self.loads.count)
    for round in 1...effort.rounds {
      for (index, load) in Self.loads.enumerated() {
        Progress.note(
          "\(mode.title): latency, round \(round) of \(effort.rounds), load \(Int(load * 100)) %")
        latencies[index].append(latency(rate: capacity.median * load, seed: round))
      }
    }
    return zip(Self.loads, latencies).map { LatencyPoint(load: $0, $1) }
  }

  private func latency(rate: Double, seed: Int) -> Latencies {
    let bursts = max(4, Int(rate * effort.arrivalSeconds) / BurstGate.size)
    let count = bursts * BurstGate.size
    let arrivals = Arrivals(count, rate: rate, seed: seed)
    let latencies = OpenLoop.latencies(arrivals) { index, ended in
      fixture.dispatcher.dispatch(action: Add(index), mode: mode.mode(index), then: ended)
    }
    fixture.gate.wait(forAll: count)
    return latencies
  }

  /// In actions per second; the clock is read as often as in the open loop.
  private static func rate(_ count: Int, _ mode: PlottedMode, _ fixture: Fixture<Add>) -> Double {
    let completions = Completions(count)
    let start = Stopwatch.now
    let nanoseconds = Stopwatch.nanoseconds {
      fixture.gate.produce(count) { index in
        while Stopwatch.now < start {}
        fixture.dispatcher.dispatch(action: Add(index), mode: mode.mode(index)) {
          completions.record(index)
        }
      }
    }
    completions.waitForAll()
    return Double(count) * 1e9 / nanoseconds
  }
}
