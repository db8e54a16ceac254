import BenchmarkSupport

/// The measured part of the page: plots, tables, and how they were made.
struct Tables {
  private let results: [ModeResult]
  private let comparisons: [ComparisonResult]
  private let options: Options

  init(_ results: [ModeResult], _ comparisons: [ComparisonResult], options: Options) {
    self.results = results
    self.comparisons = comparisons
    self.options = options
  }

  var text: String {
    ([origin] + results.map(plot) + comparisons.map(plot)
      + [capacities, latencies, throughput, costs]).joined(separator: "\n")
  }

  private var origin: String {
    """
    Written by `\(options.command)`, on
    \(Machine.description).
    Each figure is the median of \(options.effort.rounds) rounds; their quartiles are in brackets, and \
    a band in the plots.

    """
  }

  private func plot(_ result: ModeResult) -> String {
    """
    ![`\(result.mode.title)`: latency against load, throughput against \
    producers](benchmarks/\(result.mode.fileName).svg)

    """
  }

  private func plot(_ result: ComparisonResult) -> String {
    "![\(result.comparison.caption)](benchmarks/\(result.comparison.fileName).svg)\n"
  }

  private var capacities: String {
    let rows = results.map { ["`\($0.mode.title)`", cell($0.capacity, Unit.rate)] }
    return "### Capacity, in actions per second\n\n" + table(["mode", "one producer"], rows)
  }

  private var latencies: String {
    let rows = results.flatMap { result in
      result.latencies.map { point in
        let rate = result.capacity.median * point.load
        return [
          "`\(result.mode.title)`", "\(Int(point.load * 100)) %",
          Unit.rate(rate).text(rate),
          cell(point.p50, Unit.time), cell(point.p99, Unit.time), cell(point.p999, Unit.time),
        ]
      }
    }
    return "### Latency\n\n"
      + table(["mode", "load", "actions/s", "p50", "p99", "p99.9"], rows)
  }

  private var throughput: String {
    let rows = results.flatMap { result in
      [
        row(result, "one", result.throughputToOneStore),
        row(result, "a store each, up to 8", result.throughputToEightStores),
      ]
    }
    let producers = Throughput.producers.map { $0 == 1 ? "1 producer" : "\($0)" }
    return "### Throughput, in actions per second\n\n"
      + table(["mode", "stores"] + producers, rows)
  }

  private var costs: String {
    let rows = comparisons.flatMap { result in
      result.lines.flatMap { line in
        line.costs.map {
          [result.comparison.title, line.name, $0.size.grouped, cell($0.cost, Unit.time)]
        }
      }
    }
    return "### Cost beside what a program would write itself\n\n"
      + table(["program", "way", "number", "time per action"], rows)
  }

  private func row(
    _ result: ModeResult, _ stores: String, _ points: [ThroughputPoint]
  ) -> [String] {
    ["`\(result.mode.title)`", stores] + points.map { cell($0.rate, Unit.rate) }
  }

  private func cell(_ value: Quartiles, _ unit: (Double) -> Unit) -> String {
    let unit = unit(value.median)
    let spread = "\(unit.number(value.first))–\(unit.number(value.third))"
    return "\(unit.text(value.median)) (\(spread))"
  }

  private func table(_ header: [String], _ rows: [[String]]) -> String {
    let lines = [header, header.map { _ in "---" }] + rows
    return lines.map { "| \($0.joined(separator: " | ")) |\n" }.joined()
  }
}
