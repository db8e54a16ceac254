import Foundation

/// A drawing in the making: elements of an SVG file, in the order in which they cover each other.
struct Drawing {
  private let width: Double
  private let height: Double
  private let title: String
  private var elements: [String] = []

  init(width: Double, height: Double, title: String) {
    self.width = width
    self.height = height
    self.title = title
  }

  /// White in light and dark surroundings.
  mutating func fillBackground() {
    add("rect", ["width": width, "height": height, "rx": 8], ["fill": "#ffffff"])
  }

  mutating func line(from start: Point, to end: Point, color: String, width: Double = 1) {
    add(
      "line", ["x1": start.x, "y1": start.y, "x2": end.x, "y2": end.y, "stroke-width": width],
      ["stroke": color])
  }

  mutating func polyline(_ points: [Point], color: String) {
    add(
      "polyline", ["stroke-width": 2],
      ["points": list(points), "fill": "none", "stroke": color, "stroke-linejoin": "round"])
  }

  /// A surface through which what is behind it shows.
  mutating func polygon(_ points: [Point], color: String) {
    add("polygon", ["fill-opacity": 0.15], ["points": list(points), "fill": color])
  }

  mutating func dot(at point: Point, color: String) {
    add("circle", ["cx": point.x, "cy": point.y, "r": 3.5], ["fill": color])
  }

  mutating func text(
    _ text: String, at point: Point, anchor: Anchor = .start, size: Double = 12,
    color: String = Color.text, isBold: Bool = false, isUpright: Bool = false
  ) {
    var texts = ["fill": color, "text-anchor": anchor.rawValue]
    if isBold { texts["font-weight"] = "bold" }
    if isUpright { texts["transform"] = "rotate(-90 \(number(point.x)) \(number(point.y)))" }
    add("text", ["x": point.x, "y": point.y, "font-size": size], texts, content: text)
  }

  /// The whole file.
  var file: String {
    """
    <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(number(width)) \(number(height))" \
    width="\(number(width))" height="\(number(height))" role="img" \
    font-family="'Helvetica Neue', Helvetica, Arial, 'DejaVu Sans', sans-serif">
    <title>\(escaped(title))</title>
    \(elements.joined(separator: "\n"))
    </svg>

    """
  }

  private mutating func add(
    _ name: String, _ numbers: [String: Double], _ texts: [String: String], content: String? = nil
  ) {
    var attributes = numbers.mapValues(number)
    attributes.merge(texts.mapValues(escaped)) { $1 }
    // In order, so that the same drawing makes the same file.
    let list = attributes.sorted { $0.key < $1.key }.map { " \($0.key)=\"\($0.value)\"" }
    let start = "<\(name)\(list.joined())"
    elements.append(content.map { "\(start)>\(escaped($0))</\(name)>" } ?? "\(start)/>")
  }

  private func list(_ points: [Point]) -> String {
    points.map { "\(number($0.x)),\(number($0.y))" }.joined(separator: " ")
  }

  private func number(_ value: Double) -> String {
    value == value.rounded() ? String(Int(value)) : String(format: "%.2f", value)
  }

  private func escaped(_ text: String) -> String {
    text.replacingOccurrences(of: "&", with: "&amp;").replacingOccurrences(of: "<", with: "&lt;")
      .replacingOccurrences(of: "\"", with: "&quot;")
  }
}
