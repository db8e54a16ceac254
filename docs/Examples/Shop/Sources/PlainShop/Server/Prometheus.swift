import Metrics
import Synchronization

/// Keeps metrics for `GET /metrics`, in the text format of Prometheus.
final class PrometheusFactory: MetricsFactory {
  private let series = Mutex<[SeriesKey: any Series]>([:])

  func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
    make(label, dimensions) { CounterSeries() }
  }

  func makeRecorder(
    label: String, dimensions: [(String, String)], aggregate: Bool
  ) -> any RecorderHandler {
    if aggregate { return make(label, dimensions) { SummarySeries() } }
    return make(label, dimensions) { GaugeSeries() }
  }

  func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
    make(label, dimensions) { HistogramSeries() }
  }

  // Series live as long as the process, so that a metric that is made again goes on.
  func destroyCounter(_ handler: any CounterHandler) {}
  func destroyRecorder(_ handler: any RecorderHandler) {}
  func destroyTimer(_ handler: any TimerHandler) {}

  private func make<Kind: Series>(
    _ label: String, _ dimensions: [(String, String)], _ new: () -> Kind
  ) -> Kind {
    let key = SeriesKey(label, dimensions)
    return series.withLock { series in
      if let known = series[key] as? Kind { return known }
      let made = new()
      series[key] = made
      return made
    }
  }

  /// All series, sorted by name.
  func text() -> String {
    let all = series.withLock { $0 }.sorted { $0.key < $1.key }
    var text = ""
    var name = ""
    for (key, series) in all {
      if key.name != name {
        name = key.name
        text += "# TYPE \(name) \(series.type)\n"
      }
      series.write(key, to: &text)
    }
    return text
  }
}

/// The name and the labels of a series.
private struct SeriesKey: Hashable, Comparable {
  let name: String
  let labels: String

  init(_ label: String, _ dimensions: [(String, String)]) {
    name = String(label.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
    labels = dimensions.map { "\($0.0)=\"\(Self.escape($0.1))\"" }.joined(separator: ",")
  }

  private static func escape(_ value: String) -> String {
    value.reduce(into: "") { text, character in
      switch character {
      case "\\": text += "\\\\"
      case "\"": text += "\\\""
      case "\n": text += "\\n"
      default: text.append(character)
      }
    }
  }

  func line(_ suffix: String = "", _ label: String? = nil, _ value: some CustomStringConvertible)
    -> String
  {
    let all = [labels, label ?? ""].filter { !$0.isEmpty }.joined(separator: ",")
    return "\(name)\(suffix)\(all.isEmpty ? "" : "{\(all)}") \(value)\n"
  }

  static func < (left: Self, right: Self) -> Bool {
    (left.name, left.labels) < (right.name, right.labels)
  }
}

private protocol Series: AnyObject, Sendable {
  var type: String { get }
  func write(_ key: SeriesKey, to text: inout String)
}

private final class CounterSeries: Series, CounterHandler {
  private let value = Atomic<Int64>(0)

  let type = "counter"
  func increment(by amount: Int64) { value.wrappingAdd(amount, ordering: .relaxed) }
  func reset() { value.store(0, ordering: .relaxed) }
  func write(_ key: SeriesKey, to text: inout String) {
    text += key.line("", nil, value.load(ordering: .relaxed))
  }
}

private final class GaugeSeries: Series, RecorderHandler {
  private let value = Mutex(0.0)

  let type = "gauge"
  func record(_ value: Int64) { record(Double(value)) }
  func record(_ value: Double) { self.value.withLock { $0 = value } }
  func write(_ key: SeriesKey, to text: inout String) {
    text += key.line("", nil, value.withLock { $0 })
  }
}

private final class SummarySeries: Series, RecorderHandler {
  private let total = Mutex((count: 0, sum: 0.0))

  let type = "summary"
  func record(_ value: Int64) { record(Double(value)) }
  func record(_ value: Double) { total.withLock { $0 = ($0.count + 1, $0.sum + value) } }
  func write(_ key: SeriesKey, to text: inout String) {
    let (count, sum) = total.withLock { $0 }
    text += key.line("_sum", nil, sum) + key.line("_count", nil, count)
  }
}

private final class HistogramSeries: Series, TimerHandler {
  private static let bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]

  private struct Buckets {
    var counts = [Int](repeating: 0, count: HistogramSeries.bounds.count + 1)
    var sum = 0.0
  }

  private let buckets = Mutex(Buckets())

  let type = "histogram"
  func recordNanoseconds(_ duration: Int64) {
    let seconds = Double(duration) / 1e9
    let bucket = Self.bounds.firstIndex { seconds <= $0 } ?? Self.bounds.count
    buckets.withLock {
      $0.counts[bucket] += 1
      $0.sum += seconds
    }
  }
  func write(_ key: SeriesKey, to text: inout String) {
    let buckets = buckets.withLock { $0 }
    var count = 0
    for (index, bucket) in buckets.counts.enumerated() {
      count += bucket
      let bound = index < Self.bounds.count ? "\(Self.bounds[index])" : "+Inf"
      text += key.line("_bucket", "le=\"\(bound)\"", count)
    }
    text += key.line("_sum", nil, buckets.sum) + key.line("_count", nil, count)
  }
}
