import BenchmarkSupport

/// How long actions take that arrive at random times.
enum LatencyRows {
  static let all = [lanes]
  private static let size = 1_000
  private static let seconds = 0.25

  /// The p99 of actions for 1,000 lanes in shuffled order, in an open loop, at half of the capacity.
  ///
  /// The floor: a serial `DispatchQueue` per key, at the same rate. The capacity is that of one producer with at most
  /// 64 actions in flight, the lower one of both sides.
  private static let lanes = Row(
    "p99 at half of the capacity, 1000 lanes", floor: "a serial queue per key", bound: .times(2)
  ) { rounds in
    let town = Town(of: size)
    let (lane, queue) = (LaneVisits.lane(town), LaneVisits.queue(town))
    let rate = min(capacity(lane), capacity(queue)) / 2
    var round = 0
    func p99(_ visit: LaneVisits.Visit) -> Double {
      // Both sides of a round have the same arrivals.
      defer { round += 1 }
      let arrivals = Arrivals(Int(rate * seconds), rate: rate, seed: round / 2)
      return OpenLoop.latencies(arrivals, visit).p99
    }
    return Rounds.alternate(rounds, floor: { p99(queue) }, subject: { p99(lane) })
  }

  /// In actions per second.
  private static func capacity(_ visit: LaneVisits.Visit) -> Double {
    let count = 50_000
    let rates = (0..<5).map { _ in
      Double(count) * 1e9 / Stopwatch.nanoseconds { Window().produce(count, visit) }
    }
    return Quartiles(rates).median
  }
}
