/// The growth rate of a count: over about the last second, and from one sample to the next.
struct RateMeter {
  private static let window: UInt64 = 1_000_000_000
  private static let historyLength = 20

  private var samples: [(count: Int, time: UInt64)]
  /// The rates per second between the last samples, the newest at the end.
  private(set) var history: [Double] = []

  /// Begins with a count of zero.
  init(at time: UInt64) {
    samples = [(0, time)]
  }

  mutating func add(_ count: Int, at time: UInt64) {
    guard let last = samples.last, time > last.time else { return }
    history.append(Self.rate(from: last, to: (count, time)))
    if history.count > Self.historyLength { history.removeFirst() }
    samples.append((count, time))
    // Keep a sample that is as old as the window, so that the rate is that of a whole window.
    while samples.count > 2, samples[1].time + Self.window <= time { samples.removeFirst() }
  }

  /// The rate per second.
  var rate: Double {
    guard let first = samples.first, let last = samples.last, last.time > first.time else {
      return 0
    }
    return Self.rate(from: first, to: last)
  }

  private static func rate(
    from one: (count: Int, time: UInt64), to other: (count: Int, time: UInt64)
  ) -> Double {
    Double(other.count - one.count) / (Double(other.time - one.time) / 1e9)
  }
}
