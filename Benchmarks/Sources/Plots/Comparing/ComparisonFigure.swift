import BenchmarkSupport
import Foundation

/// A comparison's drawing: the cost of an action against the size.
struct ComparisonFigure {
  private static let colors = [Color.blue, Color.orange, Color.red]
  private let result: ComparisonResult

  init(_ result: ComparisonResult) {
    self.result = result
  }

  /// The file's text.
  var file: String {
    let comparison = result.comparison
    var drawing = Drawing(width: 720, height: 390, title: comparison.caption)
    drawing.fillBackground()
    let series = zip(result.lines, Self.colors).map { line, color in
      Series(
        name: line.name, color: color, points: line.costs.map { (Double($0.size), $0.cost) })
    }
    let panel = Panel(
      comparison.title, xLabel: comparison.unit, yLabel: "time per action", x: sizes,
      // Scaled to the medians, as the other figures.
      y: .decades(around: result.lines.flatMap { $0.costs.map(\.cost.median) }),
      series: series, origin: Point(x: 92, y: 74), width: 580)
    panel.draw(in: &drawing)
    return drawing.file
  }

  private var sizes: Scale {
    let sizes = result.comparison.sizes
    let (first, last) = (Double(sizes.first ?? 1), Double(sizes.last ?? 1))
    let margin = pow(last / first, 0.04)
    return Scale(
      from: first / margin, to: last * margin, isLogarithmic: true,
      ticks: sizes.map { Scale.Tick(value: Double($0), label: $0.grouped) })
  }
}
