import Testing

@testable import churn

/// What the board shows, and where.
@Suite struct BoardLayoutTests {
  private var frame: BoardFrame {
    var frame = BoardFrame(
      title: ReplayTitle(mode: "serial", round: 2, rounds: 3), allCommits: 4_000)
    frame.authors = .init(authors: 2, commits: 1_000, takeovers: 12)
    frame.authors.busiest.add("Ada", 800)
    frame.authors.busiest.add("李 Ben", 200)
    frame.files = .init(changes: 2_500, files: 321, lines: 54_321)
    frame.files.biggest.add(Path("src/\u{1B}a"), 10)
    frame.folders = .init(folders: 1)
    frame.folders.busiest.add(Path("src"), 99_999)
    frame.days = .init(days: 1)
    frame.days.busiest.add(Day(ofSecond: 0), 7)
    (frame.rate, frame.rates) = (123_456.4, [1, 4, 8])
    (frame.elapsed, frame.inFlight) = (1_500_000_000, 1_024)
    return frame
  }

  private func lines(_ columns: Int, _ rows: Int = 40) -> [String] {
    BoardLayout(size: TextSize(columns: columns, rows: rows)).lines(of: frame)
  }

  @Test func showsTwoRankingsSideBySideWhereThereIsRoom() {
    #expect(
      lines(76) == [
        "serial, round 2 of 3" + String(repeating: " ", count: 34) + "1,000 of 4,000 commits",
        String(repeating: "█", count: 18) + String(repeating: "░", count: 54) + " 25%",
        "123,456 actions/s ▁▄█ · 1.5 s · 1,024 in flight",
        "",
        "2,500 changes · 321 files · 54,321 lines · 2 authors · 12 takeovers · 1 fol…",
        "",
        "Commits by author                      Churn by folder, lines",
        "800 ██████████ Ada                     99,999 ██████████ src",
        "200 ██▌        李 Ben                  ",
        "                                       ",
        "                                       ",
        "                                       ",
        "",
        "Biggest files, lines                   Busiest days, commits",
        "10 ██████████ src/\\u{1B}a              7 ██████████ 1970-01-01",
        "                                       ",
        "                                       ",
        "                                       ",
        "                                       ",
      ])
  }

  @Test func showsThemOneBelowTheOtherWhereThereIsNot() {
    let lines = lines(40)

    #expect(lines.filter { $0.hasPrefix("Commits by author") } == ["Commits by author"])
    #expect(lines[7] == "800 ██████████ Ada")
    #expect(lines.contains("Busiest days, commits"))
    #expect(lines.count == 5 + 4 * 7)
  }

  @Test(arguments: [1, 2, 10, 39, 71, 72, 73, 200], [1, 2, 6, 12, 13, 14, 24, 100])
  func noLineIsLongerThanTheTerminalAndNoBoardHigher(columns: Int, rows: Int) {
    let lines = lines(columns, rows)

    for line in lines { #expect(TextWidth.width(of: line) <= columns, "\(line)") }
    #expect(lines.count <= max(1, rows - 1))
  }

  @Test func thePlainLineHasTheFiguresThatChangeMost() {
    #expect(
      BoardLayout.sentence(of: frame)
        == "serial, round 2 of 3: 1,000 of 4,000 commits, 123,456 actions/s, 321 files, "
        + "54,321 lines, 2 authors, 1,024 in flight, most commits: Ada (800)")
  }

  @Test(arguments: [
    (0, "····"), (0.5, "██··"), (0.28, "█▏··"), (0.9999, "████"), (1, "████"), (7, "████"),
  ])
  func aBarIsAsLongAsItsShare(share: Double, text: String) {
    #expect(Bar.text(share, cells: 4, empty: "·") == text)
  }

  @Test func aSparkIsAsHighAsItsShareOfTheHighest() {
    #expect(Bar.spark([0, 1, 2, 4, 8]) == "▁▁▂▄█")
    #expect(Bar.spark([]).isEmpty && Bar.spark([0, 0]).isEmpty)
  }

  @Test(arguments: [
    ("abc", 3, "abc"), ("abcd", 3, "ab…"), ("李小龍", 6, "李小龍"), ("李小龍", 5, "李小…"),
    ("李小龍", 4, "李…"), ("e\u{301}a", 2, "e\u{301}a"), ("👩‍👩‍👧x", 2, "…"), ("x", 0, ""),
  ])
  func textIsCutToTheColumnsThatItTakes(text: String, columns: Int, fitted: String) {
    #expect(TextWidth.fitted(text, columns) == fitted)
  }

  @Test func aRankingHasTheHighestAndOfEqualOnesTheLowerKeys() {
    let counts = [("c", 2), ("a", 2), ("z", 9), ("y", 0), ("b", 2), ("e", 2), ("d", 2), ("x", 3)]
    for counts in [counts, counts.reversed()] {
      var ranking = Ranking<ByteString>()
      for (key, count) in counts { ranking.add(ByteString(key), count) }

      #expect(ranking.entries.map(\.key) == ["z", "x", "a", "b", "c"])
      #expect(ranking.entries.map(\.count) == [9, 3, 2, 2, 2])
    }
  }
}
