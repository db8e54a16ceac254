/// The lines of the board: none longer than the terminal is wide, and no more than fit on it.
struct BoardLayout {
  /// At and above this width, two rankings stand side by side.
  private static let wideWidth = 72
  private static let gap = 3

  let size: TextSize

  func lines(of frame: BoardFrame) -> [String] {
    var lines = head(of: frame)
    let panels = panels(of: frame)
    let rows =
      size.columns >= Self.wideWidth ? pairs(panels) : panels.map { $0.lines(size.columns) }
    // The cursor is in the line under the board.
    for row in rows where lines.count + 1 + row.count < size.rows { lines += [""] + row }
    return lines.prefix(max(1, size.rows - 1)).map { TextWidth.fitted($0, size.columns) }
  }

  private func head(of frame: BoardFrame) -> [String] {
    let percent = " \(Int(frame.progress * 100))%"
    let count =
      "\(Numbers.grouped(frame.authors.commits)) of "
      + Numbers.counted(frame.allCommits, "commit")
    let title = frame.title.text
    let space = size.columns - TextWidth.width(of: title) - TextWidth.width(of: count)
    return [
      title + String(repeating: " ", count: max(2, space)) + count,
      Bar.text(frame.progress, cells: size.columns - percent.count, empty: "░") + percent,
      pace(of: frame), "", stores(of: frame),
    ]
  }

  private func pace(of frame: BoardFrame) -> String {
    var parts = ["\(Numbers.fixed(frame.rate, decimals: 0)) actions/s"]
    if !frame.rates.isEmpty { parts[0] += " \(Bar.spark(frame.rates))" }
    parts.append(Numbers.duration(frame.elapsed))
    if let count = frame.inFlight { parts.append("\(Numbers.grouped(count)) in flight") }
    return parts.joined(separator: " · ")
  }

  private func stores(of frame: BoardFrame) -> String {
    [
      Numbers.counted(frame.files.changes, "change"), Numbers.counted(frame.files.files, "file"),
      Numbers.counted(frame.files.lines, "line"), Numbers.counted(frame.authors.authors, "author"),
      Numbers.counted(frame.authors.takeovers, "takeover"),
      Numbers.counted(frame.folders.folders, "folder"), Numbers.counted(frame.days.days, "day"),
    ].joined(separator: " · ")
  }

  private func panels(of frame: BoardFrame) -> [BoardPanel] {
    [
      BoardPanel("Commits by author", frame.authors.busiest),
      BoardPanel("Churn by folder, lines", frame.folders.busiest),
      BoardPanel("Biggest files, lines", frame.files.biggest),
      BoardPanel("Busiest days, commits", frame.days.busiest),
    ]
  }

  private func pairs(_ panels: [BoardPanel]) -> [[String]] {
    let width = (size.columns - Self.gap) / 2
    return stride(from: 0, to: panels.count, by: 2).map { index in
      zip(panels[index].lines(width), panels[index + 1].lines(width)).map { left, right in
        TextWidth.padded(left, width) + String(repeating: " ", count: Self.gap) + right
      }
    }
  }
}

extension BoardLayout {
  /// The frame in a few words, for a file.
  static func sentence(of frame: BoardFrame) -> String {
    var parts = [
      "\(Numbers.grouped(frame.authors.commits)) of "
        + Numbers.counted(frame.allCommits, "commit"),
      "\(Numbers.fixed(frame.rate, decimals: 0)) actions/s",
      Numbers.counted(frame.files.files, "file"), Numbers.counted(frame.files.lines, "line"),
      Numbers.counted(frame.authors.authors, "author"),
    ]
    if let count = frame.inFlight { parts.append("\(Numbers.grouped(count)) in flight") }
    if let author = frame.authors.busiest.entries.first {
      parts.append(
        "most commits: \(author.key.printable) (\(Numbers.grouped(author.count)))")
    }
    return "\(frame.title.text): \(parts.joined(separator: ", "))"
  }
}

/// A ranking with its title.
///
/// The number of lines is fixed, so that the lines below stay in place.
private struct BoardPanel {
  private static let barWidth = 10

  private let title: String
  private let length: Int
  private let rows: [(name: String, count: Int)]

  init<Key: FigureKey>(_ title: String, _ ranking: Ranking<Key>) {
    self.title = title
    length = Ranking<Key>.length
    rows = ranking.entries.map { ($0.key.printable, $0.count) }
  }

  func lines(_ width: Int) -> [String] {
    let counts = rows.map { Numbers.grouped($0.count) }
    let countWidth = counts.map(\.count).max() ?? 0
    let highest = rows.first?.count ?? 1
    var lines = [TextWidth.fitted(title, width)]
    for (row, count) in zip(rows, counts) {
      let bar = Bar.text(Double(row.count) / Double(highest), cells: Self.barWidth)
      let padding = String(repeating: " ", count: countWidth - count.count)
      lines.append(TextWidth.fitted("\(padding)\(count) \(bar) \(row.name)", width))
    }
    return lines + Array(repeating: "", count: max(0, 1 + length - lines.count))
  }
}
