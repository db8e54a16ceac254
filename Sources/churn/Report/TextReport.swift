/// The findings as text for people.
struct TextReport {
  private static let listed = 10

  let findings: Findings

  var text: String {
    let log = findings.log
    let line = findings.head == nil ? "" : " of the first-parent line"
    let head =
      "\(Numbers.counted(log.commits, "commit"))\(line), "
      + "\(Numbers.counted(log.changes, "change")) of files: \(findings.title)\n"
    let sections = (findings.answers.map(figures) ?? []) + [modes, cut].compactMap(\.self)
    return ([head] + sections).joined(separator: "\n")
  }

  private func figures(_ answers: Answers) -> [String] {
    [
      biggestFiles(answers),
      ranking("Touched last, files by author", filesByLastAuthor(answers)),
      ranking("Taken over, changes by author", answers.takeoversByAuthor),
      ranking("Churn, lines added and deleted by folder", answers.churnByFolder),
      ranking("Commits by author", answers.commitsByAuthor),
      ranking("Busiest days, commits", answers.commitsByDay),
    ]
  }

  private func biggestFiles(_ answers: Answers) -> String {
    let sizes = answers.linesByFile.compactMapValues { size in
      if case .lines(let count) = size { count } else { nil }
    }
    var table = Table([.right, .left, .left])
    for (path, lines) in top(sizes) {
      let author = answers.lastAuthorByFile[path]?.description ?? ""
      table.add(Numbers.grouped(lines), path.description, "last touched by \(author)")
    }
    return "Biggest files, lines\n\(table.text)"
  }

  private func filesByLastAuthor(_ answers: Answers) -> [ByteString: Int] {
    answers.lastAuthorByFile.values.reduce(into: [:]) { $0[$1, default: 0] += 1 }
  }

  private func ranking<Key: FigureKey>(_ title: String, _ counts: [Key: Int]) -> String {
    var table = Table([.right, .left])
    for (key, count) in top(counts) { table.add(Numbers.grouped(count), key.description) }
    return "\(title)\n\(table.text)"
  }

  /// The highest counts; equal counts in the order of their keys.
  private func top<Key: FigureKey>(_ counts: [Key: Int]) -> [(key: Key, value: Int)] {
    let ranked = counts.filter { $0.value > 0 }
      .sorted { ($1.value, $0.key) < ($0.value, $1.key) }
    return Array(ranked.prefix(Self.listed))
  }
}

// MARK: - How it went

extension TextReport {
  private var modes: String? {
    if findings.verdicts.isEmpty { return nil }
    var table = Table([.left, .right, .right, .right, .right, .right, .right, .left])
    table.add(
      "mode", "producers", "actions/s", "time", "p50", "p99", "p99.9", "figures that it promises")
    for verdict in findings.verdicts {
      let run = verdict.measurement
      table.add(
        run.name, "\(run.producers)", Numbers.fixed(run.actionsPerSecond, decimals: 0),
        times(verdict),
        Numbers.duration(run.latencies.quantile(0.5)),
        Numbers.duration(run.latencies.quantile(0.99)),
        Numbers.duration(run.latencies.quantile(0.999)), promise(verdict))
    }
    // The plain loop, which comes first, has one more than a mode that was cut.
    let rounds = findings.verdicts.map(\.ratios.count)
    let (least, most) = (rounds.min() ?? 1, rounds.max() ?? 1)
    let count = least == most ? "\(most)" : "\(least)–\(most)"
    let note = most > 1 ? ", medians of \(count) rounds (lowest–highest)" : ""
    return "Modes\(note)\n\(table.text)" + """
        time: as a multiple of the plain loop's. p50 to p99.9: from the dispatch of an action to its completion,
        with the wait behind others in flight (--in-flight 1 shows an action alone).

      """
  }

  /// The replay's time as a multiple of the plain loop's.
  private func times(_ verdict: Verdict) -> String {
    let ratios = verdict.ratios
    func fixed(_ ratio: Double) -> String { Numbers.fixed(ratio, decimals: 1) }
    let median = "×\(fixed(verdict.medianRatio))"
    return ratios.count > 1
      ? "\(median) (\(fixed(ratios[0]))–\(fixed(ratios[ratios.count - 1])))" : median
  }

  private func promise(_ verdict: Verdict) -> String {
    guard verdict.broken.isEmpty else {
      return "BROKEN: " + verdict.broken.map(\.figure.rawValue).joined(separator: ", ")
    }
    if verdict.promisesOrder { return "all: held" }
    let order = Figure.allCases.filter(\.dependsOnOrder).map { figure in
      let count = verdict.differences.first { $0.figure == figure }?.count ?? 0
      return "\(figure.rawValue) (\(Numbers.grouped(count)) differ)"
    }
    return "all but \(order.joined(separator: ", ")): held"
  }

  private var cut: String? {
    guard let cut = findings.cut else { return nil }
    return "Cut by \(cut.cut.signal)\n  \(cut.text)\n"
  }
}

extension GitComparison {
  /// The section that ends the report.
  func text(at commit: ByteString) -> String {
    let title = "Git at \(commit.description.prefix(12))"
    let files = Numbers.counted(compared, "text file")
    let others = "\(Numbers.grouped(leftAside)) that were binary not compared"
    guard isEqual else {
      return "\(title)\n  \(files), \(Numbers.grouped(differing)) of them NOT as in git: "
        + "\(examples.joined(separator: "; ")); \(others)\n"
    }
    return "\(title)\n  \(files), equal to git's; \(others)\n"
  }
}
