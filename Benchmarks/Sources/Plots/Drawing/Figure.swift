import BenchmarkSupport

/// A mode's drawing: latency against load beside throughput against producers.
struct Figure {
  private let result: ModeResult
  private let times: Scale

  /// - Parameters:
  ///   - result: What is drawn.
  ///   - times: The scale of latencies; the same in all figures, so that they compare.
  init(_ result: ModeResult, times: Scale) {
    self.result = result
    self.times = times
  }

  /// The file's text.
  var file: String {
    var drawing = Drawing(
      width: 960, height: 430,
      title: "\(result.mode.title): latency against load, throughput against producers")
    drawing.fillBackground()
    drawing.text(
      result.mode.title, at: Point(x: 24, y: 36), size: 18, isBold: true)
    latencies.draw(in: &drawing)
    throughput.draw(in: &drawing)
    return drawing.file
  }

  private var latencies: Panel {
    func series(_ name: String, _ color: String, _ value: (LatencyPoint) -> Quartiles) -> Series {
      Series(name: name, color: color, points: result.latencies.map { ($0.load, value($0)) })
    }
    let capacity = result.capacity.median
    return Panel(
      "Latency against load",
      xLabel: "load, in % of the capacity (\(Unit.rate(capacity).text(capacity)) actions/s)",
      yLabel: "from arrival to completion", x: Self.loads, y: times,
      series: [
        series("p99.9", Color.red, \.p999), series("p99", Color.orange, \.p99),
        series("p50", Color.blue, \.p50),
      ],
      origin: Point(x: 92, y: 116))
  }

  private var throughput: Panel {
    func series(_ name: String, _ color: String, _ points: [ThroughputPoint]) -> Series {
      Series(name: name, color: color, points: points.map { (Double($0.producers), $0.rate) })
    }
    let all = result.throughputToOneStore + result.throughputToEightStores
    return Panel(
      "Throughput against producers", xLabel: "producers (threads)", yLabel: "actions/s",
      x: Self.producers, y: .rates(to: all.map(\.rate.third).max() ?? 1),
      series: [
        series("one store", Color.blue, result.throughputToOneStore),
        series("a store each, up to 8", Color.red, result.throughputToEightStores),
      ],
      origin: Point(x: 572, y: 116))
  }

  private static let loads = Scale(
    from: 0, to: 1,
    ticks: LoadedMode.loads.map { Scale.Tick(value: $0, label: "\(Int($0 * 100))") })

  private static let producers = Scale(
    from: 0.85, to: 75, isLogarithmic: true,
    ticks: Throughput.producers.map { Scale.Tick(value: Double($0), label: "\($0)") })
}
