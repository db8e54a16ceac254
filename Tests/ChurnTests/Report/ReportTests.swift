import Foundation
import Testing

@testable import churn

/// What is printed.
@Suite struct ReportTests {
  private func findings(
    _ answers: Answers = Answers(), verdicts: [Verdict] = []
  ) -> Findings {
    Findings(title: "test", log: LogSummary(), head: nil, answers: answers, verdicts: verdicts)
  }

  private func verdict(
    _ name: String, promisesOrder: Bool, _ figures: Figure..., seconds: [Double] = [1]
  ) -> Verdict {
    let differences = figures.map { Difference(figure: $0, count: 1200, examples: []) }
    func measurement(_ seconds: Double) -> churn.Measurement {
      churn.Measurement(
        name: name, producers: 1, actions: 1_000_000, seconds: seconds,
        latencies: LatencyHistogram())
    }
    let trials = seconds.map {
      Trial(measurement($0), floor: measurement(1), differences: differences)
    }
    return Verdict(of: trials, promisesOrder: promisesOrder)
  }

  @Test(arguments: [
    (0, "0"), (999, "999"), (1000, "1,000"), (-1_234_567, "-1,234,567"),
    (Int.min, "-9,223,372,036,854,775,808"),
  ])
  func groupsDigits(number: Int, text: String) {
    #expect(Numbers.grouped(number) == text)
  }

  @Test(arguments: [(0.04, "0.0"), (0.05, "0.1"), (12345.66, "12,345.7"), (-0.26, "-0.3")])
  func roundsToItsDecimals(number: Double, text: String) {
    #expect(Numbers.fixed(number, decimals: 1) == text)
  }

  @Test(
    arguments: [
      (0, "0 ns"), (999, "999 ns"), (1500, "1.5 µs"), (2_340_000, "2.3 ms"),
      (61_000_000_000, "61.0 s"),
    ] as [(UInt64, String)])
  func showsDurationsInTheUnitThatSuits(nanoseconds: UInt64, text: String) {
    #expect(Numbers.duration(nanoseconds) == text)
  }

  @Test func alignsColumnsAndLeavesNoSpaceAtTheEnd() {
    var table = Table([.right, .left, .left])
    table.add("1", "a", "x")
    table.add("10", "bcd", "")

    #expect(table.text == "   1  a    x\n  10  bcd\n")
  }

  @Test func writesJSONThatKeepsOrderAndEscapes() throws {
    let value = JSONValue.object([
      ("b", .array([.int(1), .null, .bool(true), .double(0.5)])),
      ("a\n\"\\\u{1}", .string("é\u{1F600}")),
      ("empty", .object([])),
    ])

    #expect(
      value.text == """
        {
          "b": [
            1,
            null,
            true,
            0.5
          ],
          "a\\u000a\\"\\\\\\u0001": "é😀",
          "empty": {}
        }

        """)
    #expect(throws: Never.self) { try JSONSerialization.jsonObject(with: Data(value.text.utf8)) }
    #expect(
      value.line
        == "{\"b\":[1,null,true,0.5],\"a\\u000a\\\"\\\\\\u0001\":\"é😀\",\"empty\":{}}")
  }

  @Test func pathsThatBecomeTheSameTextBecomeOneMember() throws {
    var answers = Answers()
    answers.linesByFile = [
      Path(ByteString([0xFF])): .lines(1), Path(ByteString([0xFE])): .lines(2),
      Path("caf\u{E9}"): .lines(3), Path("cafe\u{301}"): .binary,
    ]

    let text = JSONReport(findings: findings(answers)).text

    #expect(text.contains("\"\u{FFFD}\": 3"))
    #expect(text.split(separator: "\n").count { $0.contains("\"caf") } == 2)
  }

  @Test func showsWhatEachModePromisesAndWhetherItHeld() {
    let text = TextReport(
      findings: findings(verdicts: [
        verdict("plainLoop", promisesOrder: true),
        verdict("async", promisesOrder: false, .takeoversByAuthor, seconds: [2.5]),
        verdict("sync", promisesOrder: true, .lastAuthorByFile),
      ])
    ).text

    #expect(text.contains("1,000,000  ×1.0"))
    #expect(text.contains("400,000  ×2.5"))
    #expect(text.contains("all: held"))
    #expect(
      text.contains(
        "all but takeoversByAuthor (1,200 differ), lastAuthorByFile (0 differ): held"))
    #expect(text.contains("BROKEN: lastAuthorByFile"))
  }

  @Test func theTimeOfAReplayThatWasGoneOnWithIsComparedForEachAction() {
    func measurement(actions: Int, seconds: Double) -> churn.Measurement {
      churn.Measurement(
        name: "serial", producers: 1, actions: actions, seconds: seconds,
        latencies: LatencyHistogram())
    }
    let floor = measurement(actions: 1000, seconds: 20)

    #expect(Trial(measurement(actions: 10, seconds: 2), floor: floor, differences: []).ratio == 10)
    #expect(Trial(measurement(actions: 0, seconds: 0), floor: floor, differences: []).ratio == 1)
  }

  @Test func saysThatLatenciesHaveAWaitInThem() {
    let text = TextReport(findings: findings(verdicts: [verdict("serial", promisesOrder: true)]))
      .text

    #expect(text.hasSuffix("in flight (--in-flight 1 shows an action alone).\n"))
  }

  @Test func showsTheMedianOfSeveralRoundsAndTheirSpread() throws {
    let findings = findings(verdicts: [
      verdict("plainLoop", promisesOrder: true, seconds: [1, 1, 1]),
      verdict("sync", promisesOrder: true, seconds: [4, 1.25, 2]),
    ])
    let text = TextReport(findings: findings).text

    #expect(text.contains("Modes, medians of 3 rounds (lowest–highest)"))
    #expect(text.contains("500,000  ×2.0 (1.3–4.0)"))
    let json = try JSONSerialization.jsonObject(
      with: Data(JSONReport(findings: findings).text.utf8))
    let runs = (json as? [String: Any])?["runs"] as? [[String: Any]]
    #expect(runs?[1]["rounds"] as? Int == 3)
    #expect(runs?[1]["seconds"] as? Double == 2)
    #expect(
      runs?[1]["timesPlainLoop"] as? [String: Double]
        == ["median": 2, "lowest": 1.25, "highest": 4])
  }

  @Test func showsThatTheModeThatWasCutHasARoundLess() {
    let text = TextReport(
      findings: findings(verdicts: [
        verdict("plainLoop", promisesOrder: true, seconds: [1, 1, 1]),
        verdict("sync", promisesOrder: true, seconds: [4, 1.25]),
      ])
    ).text

    #expect(text.contains("Modes, medians of 2–3 rounds (lowest–highest)"))
  }

  @Test(arguments: [
    (0, "; all that was dispatched has ended"), (1, "; 1 action had not ended after 5.0 seconds"),
    (1200, "; 1,200 actions had not ended after 5.0 seconds"),
  ])
  func saysWhetherAllThatWasDispatchedHasEnded(unfinished: Int, end: String) throws {
    let cut = Cut(signal: Signal(2), dispatched: 9, unfinished: unfinished)
    let replay = CutReplay(
      ReplayTitle(mode: "async", round: 2, rounds: 3), cut, Models(),
      of: try TestLog.small.batches(copies: 2))
    let text = TextReport(
      findings: Findings(
        title: "test", log: LogSummary(), head: nil, answers: nil, verdicts: [], cut: replay)
    ).text

    #expect(
      text.hasSuffix(
        "Cut by SIGINT\n  async, round 2 of 3: 0 of 6 commits, 0 of 12 changes\(end)\n"))
    #expect(replay.isWhole == (unfinished > 0))
  }

  @Test func showsHowFilesCompareWithGits() throws {
    let sizes: [Path: FileSize] = [Path("a"): .lines(1), Path("b"): .binary]
    let equal = try GitComparison(sizes, numstat: Array("1\t0\ta\u{0}-\t-\tb\u{0}".utf8))
    let unlike = try GitComparison(sizes, numstat: Array("2\t0\ta\u{0}-\t-\tb\u{0}".utf8))

    let commit = ByteString(TestLog.hash(1))
    #expect(
      equal.text(at: commit) == """
        Git at aaaaaaaaaaaa
          1 text file, equal to git's; 1 that were binary not compared

        """)
    #expect(
      unlike.text(at: commit)
        .contains("1 text file, 1 of them NOT as in git: 'a' 1 lines here, 2 lines in git"))
  }

  /// A terminal of 30 columns.
  private struct NarrowOutput: TextOutput {
    let collected = CollectedOutput()
    let isTerminal = true
    let columns = 30

    func write(_ text: String) { collected.write(text) }
  }

  @Test func progressFitsIntoALineOfTheTerminal() {
    let output = NarrowOutput()
    ProgressLine(on: output).show("reading", " 12 commits of a file with a long name")

    #expect(output.collected.text == "\r\u{1B}[Kreading 12 commits of a file ")
  }

  @Test(arguments: [(.zero, 3), (.seconds(1_000_000), 2)] as [(Duration, Int)])
  func progressIsNotShownTooOften(interval: Duration, lines: Int) {
    let output = CollectedOutput(isTerminal: true)
    let line = ProgressLine(on: output, every: interval)
    line.show("reading", done: 1, of: 4)
    line.show("reading", done: 2, of: 4)
    // Another task is shown at once.
    line.show("replaying", done: 3, of: 4)

    #expect(output.text.count { $0 == "%" } == lines)
    #expect(output.text.hasSuffix("replaying: 75%"))
  }

  @Test func progressIsShownToAPersonOnly() {
    let terminal = CollectedOutput(isTerminal: true)
    let file = CollectedOutput()
    for output in [terminal, file] {
      let line = ProgressLine(on: output)
      line.show("replaying", done: 1, of: 2)
      line.show("replaying", done: 1, of: 2)
      line.clear()
      line.clear()
    }

    #expect(terminal.text == "\r\u{1B}[Kreplaying: 50%\r\u{1B}[K")
    #expect(file.text.isEmpty)
  }
}
