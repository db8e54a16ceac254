import BenchmarkSupport

/// One of a drawing's plots: axes, series, legend.
struct Panel: Sendable {
  let title: String
  let xLabel: String
  let yLabel: String
  let x: Scale
  let y: Scale
  let series: [Series]
  /// The plot's corner, without labels.
  let origin: Point

  private let width: Double
  private let height = 250.0

  init(
    _ title: String, xLabel: String, yLabel: String, x: Scale, y: Scale, series: [Series],
    origin: Point, width: Double = 360
  ) {
    self.title = title
    self.xLabel = xLabel
    self.yLabel = yLabel
    self.x = x
    self.y = y
    self.series = series
    self.origin = origin
    self.width = width
  }

  func draw(in drawing: inout Drawing) {
    drawing.text(
      title, at: Point(x: origin.x, y: origin.y - 38), size: 14, isBold: true)
    drawLegend(in: &drawing)
    drawAxes(in: &drawing)
    for line in series { draw(line, in: &drawing) }
  }

  private func drawLegend(in drawing: inout Drawing) {
    var x = origin.x
    for line in series {
      let middle = origin.y - 18
      drawing.line(
        from: Point(x: x, y: middle), to: Point(x: x + 18, y: middle), color: line.color, width: 2)
      drawing.dot(at: Point(x: x + 9, y: middle), color: line.color)
      drawing.text(line.name, at: Point(x: x + 24, y: middle + 4))
      // By the usual width of a letter, because the font's is unknown here.
      x += 44 + 6.6 * Double(line.name.count)
    }
  }

  private func drawAxes(in drawing: inout Drawing) {
    let bottom = origin.y + height
    for tick in y.ticks {
      let place = point(xPosition: 0, yPosition: y.position(of: tick.value))
      drawing.line(from: place, to: Point(x: place.x + width, y: place.y), color: Color.grid)
      drawing.text(
        tick.label, at: Point(x: place.x - 8, y: place.y + 4), anchor: .end, color: Color.quiet)
    }
    for tick in x.ticks {
      let place = point(xPosition: x.position(of: tick.value), yPosition: 0)
      drawing.line(from: place, to: Point(x: place.x, y: place.y + 5), color: Color.axis)
      drawing.text(
        tick.label, at: Point(x: place.x, y: place.y + 19), anchor: .middle, color: Color.quiet)
    }
    drawing.line(
      from: Point(x: origin.x, y: bottom), to: Point(x: origin.x + width, y: bottom),
      color: Color.axis)
    drawing.text(
      xLabel, at: Point(x: origin.x + width / 2, y: bottom + 40), anchor: .middle,
      color: Color.quiet)
    drawing.text(
      yLabel, at: Point(x: origin.x - 66, y: origin.y + height / 2), anchor: .middle,
      color: Color.quiet, isUpright: true)
  }

  private func draw(_ line: Series, in drawing: inout Drawing) {
    func place(_ x: Double, _ y: Double) -> Point {
      point(xPosition: self.x.position(of: x), yPosition: self.y.position(of: y))
    }
    let upper = line.points.map { place($0.x, $0.y.third) }
    let lower = line.points.map { place($0.x, $0.y.first) }
    drawing.polygon(upper + lower.reversed(), color: line.color)
    let middle = line.points.map { place($0.x, $0.y.median) }
    drawing.polyline(middle, color: line.color)
    for point in middle { drawing.dot(at: point, color: line.color) }
  }

  private func point(xPosition: Double, yPosition: Double) -> Point {
    Point(x: origin.x + width * xPosition, y: origin.y + height * (1 - yPosition))
  }
}
