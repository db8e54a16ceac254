/// Columns of text, each as wide as its widest cell.
struct Table {
  /// The alignment of a column.
  enum Side { case left, right }

  private let sides: [Side]
  private var rows: [[String]] = []

  init(_ sides: [Side]) {
    self.sides = sides
  }

  mutating func add(_ cells: String...) {
    precondition(cells.count == sides.count, "A row has a cell for each column of its table.")
    rows.append(cells)
  }

  /// The lines, each with two spaces before it.
  var text: String {
    let widths = sides.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    return rows.map { "  \(line($0, widths))\n" }.joined()
  }

  private func line(_ cells: [String], _ widths: [Int]) -> String {
    let padded = cells.indices.map { column in
      let padding = String(repeating: " ", count: widths[column] - cells[column].count)
      return sides[column] == .left ? cells[column] + padding : padding + cells[column]
    }
    let line = padded.joined(separator: "  ")
    return String(line.reversed().drop(while: { $0 == " " }).reversed())
  }
}
