import Foundation
public import Metrics
import Synchronization

/// A metrics backend that renders what it has as Prometheus's text format.
///
///     let prometheus = PrometheusMetrics()
///     MetricsSystem.bootstrap(prometheus)
///     router.addMetrics(prometheus, of: metrics)
///
/// Counters end in `_total`, timers are histograms in seconds, recorders are histograms or gauges. Handles for the
/// same label and dimensions share their values.
public final class PrometheusMetrics: MetricsFactory {
  /// The upper bounds of a timer's buckets, in seconds.
  public static let defaultBuckets = [
    0.000_01, 0.000_1, 0.000_5, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10,
  ]

  private struct Key: Hashable {
    let name: String
    let labels: String
  }

  private let buckets: [Double]
  private let series = Mutex<[Key: any PrometheusSeries]>([:])

  /// Makes a backend without metrics.
  public init(buckets: [Double] = PrometheusMetrics.defaultBuckets) {
    self.buckets = buckets.sorted()
  }

  /// All metrics in the text format, ordered by name and labels.
  public func render() -> String {
    let all = series.withLock { $0 }.sorted {
      ($0.key.name, $0.key.labels) < ($1.key.name, $1.key.labels)
    }
    var text = ""
    var lastName: String?
    for (key, series) in all {
      if key.name != lastName { text += "# TYPE \(key.name) \(series.kind)\n" }
      lastName = key.name
      for (suffix, labels, value) in series.samples {
        let labels = [key.labels, labels].filter { !$0.isEmpty }.joined(separator: ",")
        text += key.name + suffix + (labels.isEmpty ? "" : "{\(labels)}") + " \(value)\n"
      }
    }
    return text
  }

  private func find<Series: PrometheusSeries>(
    _ label: String, _ unit: String, _ dimensions: [(String, String)], _ make: () -> Series
  ) -> Series {
    let key = Key(
      name: Self.name(label) + unit,
      labels: dimensions.map { "\(Self.name($0))=\"\(Self.escape($1))\"" }.joined(separator: ","))
    return series.withLock { series in
      if let known = series[key] as? Series { return known }
      precondition(series[key] == nil, "The metric \(key.name) was made before, as another kind.")
      let made = make()
      series[key] = made
      return made
    }
  }

  private static func name(_ label: String) -> String {
    let name = label.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" }
    return (name.first?.isNumber ?? true ? "_" : "") + String(name)
  }

  private static func escape(_ value: String) -> String {
    value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
  }

  private func remove(_ handler: AnyObject) {
    series.withLock { series in series = series.filter { $0.value !== handler } }
  }

  // MARK: MetricsFactory

  /// Returns the counter of this label set.
  public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
    find(label, "_total", dimensions) { PrometheusCounter() }
  }

  /// Returns the gauge of this label set.
  public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
    find(label, "", dimensions) { PrometheusGauge() }
  }

  /// Returns the histogram of this label set, or the gauge if it does not aggregate.
  public func makeRecorder(
    label: String, dimensions: [(String, String)], aggregate: Bool
  ) -> any RecorderHandler {
    aggregate
      ? find(label, "", dimensions) { PrometheusHistogram(self.buckets) }
      : find(label, "", dimensions) { PrometheusGauge() }
  }

  /// Returns the histogram of this label set, in seconds.
  public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
    find(label, "_seconds", dimensions) { PrometheusHistogram(self.buckets) }
  }

  /// Removes the counter.
  public func destroyCounter(_ handler: any CounterHandler) { remove(handler) }
  /// Removes the gauge.
  public func destroyMeter(_ handler: any MeterHandler) { remove(handler) }
  /// Removes the histogram or gauge.
  public func destroyRecorder(_ handler: any RecorderHandler) { remove(handler) }
  /// Removes the histogram.
  public func destroyTimer(_ handler: any TimerHandler) { remove(handler) }
}

/// The values of one label set.
private protocol PrometheusSeries: AnyObject, Sendable {
  /// The word after `# TYPE`.
  var kind: String { get }
  /// The lines, each with what follows the name, further labels, and a value.
  var samples: [(suffix: String, labels: String, value: String)] { get }
}

private final class PrometheusCounter: CounterHandler, PrometheusSeries {
  private let value = Atomic<Int64>(0)

  func increment(by amount: Int64) { value.wrappingAdd(amount, ordering: .relaxed) }
  func reset() { value.store(0, ordering: .relaxed) }

  var kind: String { "counter" }
  var samples: [(suffix: String, labels: String, value: String)] {
    [("", "", "\(value.load(ordering: .relaxed))")]
  }
}

private final class PrometheusGauge: MeterHandler, RecorderHandler, PrometheusSeries {
  private let value = Mutex(0.0)

  func set(_ value: Int64) { set(Double(value)) }
  func set(_ value: Double) { self.value.withLock { $0 = value } }
  func record(_ value: Int64) { set(Double(value)) }
  func record(_ value: Double) { set(value) }
  func increment(by amount: Double) { value.withLock { $0 += amount } }
  func decrement(by amount: Double) { value.withLock { $0 -= amount } }

  var kind: String { "gauge" }
  var samples: [(suffix: String, labels: String, value: String)] {
    [("", "", "\(value.withLock { $0 })")]
  }
}

private final class PrometheusHistogram: TimerHandler, RecorderHandler, PrometheusSeries {
  private struct State {
    var counts: [UInt64]
    var sum = 0.0
  }

  private let bounds: [Double]
  /// The last count is that of the values above all bounds.
  private let state: Mutex<State>

  init(_ bounds: [Double]) {
    self.bounds = bounds
    state = Mutex(State(counts: Array(repeating: 0, count: bounds.count + 1)))
  }

  func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }
  func record(_ value: Int64) { record(Double(value)) }

  func record(_ value: Double) {
    var bucket = 0
    while bucket < bounds.count, value > bounds[bucket] { bucket += 1 }
    state.withLock { state in
      state.counts[bucket] += 1
      state.sum += value
    }
  }

  var kind: String { "histogram" }
  var samples: [(suffix: String, labels: String, value: String)] {
    let state = state.withLock { $0 }
    var total: UInt64 = 0
    var samples: [(suffix: String, labels: String, value: String)] = []
    for (bound, count) in zip(bounds.map { "\($0)" } + ["+Inf"], state.counts) {
      total += count
      samples.append(("_bucket", "le=\"\(bound)\"", "\(total)"))
    }
    return samples + [("_sum", "", "\(state.sum)"), ("_count", "", "\(total)")]
  }
}
