/// The findings as JSON.
struct JSONReport {
  let findings: Findings

  var text: String {
    var members = findings.answers.map(figures) ?? []
    members.append(("rejectedRecords", .int(findings.log.rejections.count)))
    if let head = findings.head { members.append(("head", .string(head))) }
    members.append(("runs", .array(findings.verdicts.map(run))))
    if let cut = findings.cut { members.append(("cut", json(cut))) }
    return JSONValue.object(members).text
  }

  private func figures(_ answers: Answers) -> [(name: String, value: JSONValue)] {
    [
      (Figure.commits.rawValue, .int(answers.commits)),
      (Figure.changes.rawValue, .int(answers.changes)),
      counts(.commitsByAuthor, answers.commitsByAuthor),
      counts(.addedByAuthor, answers.addedByAuthor),
      counts(.deletedByAuthor, answers.deletedByAuthor),
      counts(.takeoversByAuthor, answers.takeoversByAuthor),
      figure(.linesByFile, names(answers.linesByFile), \.json, merging: sum),
      figure(.lastAuthorByFile, names(answers.lastAuthorByFile), { .string($0.text) }) { $1 },
      counts(.churnByFolder, names(answers.churnByFolder)),
      days(answers.commitsByDay),
    ]
  }

  private func json(_ replay: CutReplay) -> JSONValue {
    .object([
      ("by", .string("\(replay.cut.signal)")),
      ("mode", .string(replay.title.mode)), ("round", .int(replay.title.round)),
      ("rounds", .int(replay.title.rounds)),
      ("commits", .int(replay.commits)), ("allCommits", .int(replay.allCommits)),
      ("changes", .int(replay.changes)), ("allChanges", .int(replay.allChanges)),
      ("unfinished", .int(replay.cut.unfinished)),
    ])
  }

  private func run(_ verdict: Verdict) -> JSONValue {
    let run = verdict.measurement
    let latencies: [(String, Double)] = [("p50", 0.5), ("p99", 0.99), ("p999", 0.999)]
    return .object([
      ("mode", .string(run.name)),
      ("producers", .int(run.producers)),
      ("actions", .int(run.actions)),
      ("seconds", .double(run.seconds)),
      ("actionsPerSecond", .double(run.actionsPerSecond.rounded())),
      ("rounds", .int(verdict.ratios.count)),
      (
        "timesPlainLoop",
        .object([
          ("median", .double(verdict.medianRatio)), ("lowest", .double(verdict.ratios[0])),
          ("highest", .double(verdict.ratios[verdict.ratios.count - 1])),
        ])
      ),
      (
        "latencyNanoseconds",
        .object(latencies.map { ($0.0, .int(Int(run.latencies.quantile($0.1)))) })
      ),
      ("orderedFiguresHeld", .bool(verdict.orderedFiguresHeld)),
    ])
  }
}

// MARK: - Figures by key

extension JSONReport {
  private func names<Value>(_ values: [Path: Value]) -> [ByteString: Value] {
    // Names of one copy, so that no name comes twice.
    Dictionary(uniqueKeysWithValues: values.map { ($0.key.name, $0.value) })
  }

  private func counts(
    _ name: Figure, _ counts: [ByteString: Int]
  ) -> (name: String, value: JSONValue) {
    figure(name, counts, { .int($0) }, merging: +)
  }

  private func days(_ counts: [Day: Int]) -> (name: String, value: JSONValue) {
    let members = counts.sorted { $0.key < $1.key }.map {
      (name: $0.key.description, value: JSONValue.int($0.value))
    }
    return (Figure.commitsByDay.rawValue, .object(members))
  }

  /// Merges keys that are not UTF-8 and become the same text into one member.
  private func figure<Value>(
    _ name: Figure, _ values: [ByteString: Value], _ json: (Value) -> JSONValue,
    merging: (Value, Value) -> Value
  ) -> (name: String, value: JSONValue) {
    var byText: [ByteString: Value] = [:]
    for (key, value) in values.sorted(by: { $0.key < $1.key }) {
      let text = ByteString(key.text)
      byText[text] = byText[text].map { merging($0, value) } ?? value
    }
    let members = byText.sorted { $0.key < $1.key }.map {
      (name: $0.key.text, value: json($0.value))
    }
    return (name.rawValue, .object(members))
  }

  private func sum(_ one: FileSize, _ other: FileSize) -> FileSize {
    guard case .lines(let first) = one, case .lines(let second) = other else { return .binary }
    return .lines(first + second)
  }
}
