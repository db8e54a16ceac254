/// Bars drawn with block characters.
enum Bar {
  /// A bar that fills this share (0 to 1) of some cells, to an eighth of a cell; the rest is filled with `empty`.
  static func text(_ share: Double, cells: Int, empty: Character = " ") -> String {
    guard cells > 0 else { return "" }
    let eighths = Int((min(max(share, 0), 1) * Double(cells * 8)).rounded())
    let full = eighths / 8
    var text = String(repeating: "█", count: full)
    if eighths % 8 > 0 { text.append(partial[eighths % 8 - 1]) }
    return text + String(repeating: empty, count: cells - full - (eighths % 8 > 0 ? 1 : 0))
  }

  /// Draws a column for each value, as high as its share of the highest.
  static func spark(_ values: [Double]) -> String {
    guard let highest = values.max(), highest > 0 else { return "" }
    return String(
      values.map { heights[min(7, max(0, Int(($0 / highest * 8).rounded(.up)) - 1))] })
  }

  private static let partial: [Character] = ["▏", "▎", "▍", "▌", "▋", "▊", "▉"]
  private static let heights: [Character] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]
}
