/// A figure's difference from the reference.
struct Difference: Equatable, Sendable {
  static let shownExamples = 3

  let figure: Figure
  /// The number of keys that differ.
  let count: Int
  /// The first differing keys, each with both values.
  let examples: [String]
}

extension Difference: CustomStringConvertible {
  var description: String {
    let rest = count > examples.count ? ", and \(count - examples.count) more" : ""
    return "\(figure.rawValue): \(examples.joined(separator: ", "))\(rest)"
  }
}

extension Answers {
  /// The figures that differ from `reference`, in the order of `Figure`.
  func differences(from reference: Answers) -> [Difference] {
    Figure.allCases.compactMap { figure in
      switch figure {
      case .commits: difference(figure, commits, reference.commits)
      case .changes: difference(figure, changes, reference.changes)
      case .commitsByAuthor:
        difference(figure, commitsByAuthor, reference.commitsByAuthor)
      case .addedByAuthor: difference(figure, addedByAuthor, reference.addedByAuthor)
      case .deletedByAuthor: difference(figure, deletedByAuthor, reference.deletedByAuthor)
      case .takeoversByAuthor:
        difference(figure, takeoversByAuthor, reference.takeoversByAuthor)
      case .linesByFile: difference(figure, linesByFile, reference.linesByFile)
      case .lastAuthorByFile:
        difference(figure, lastAuthorByFile, reference.lastAuthorByFile)
      case .churnByFolder: difference(figure, churnByFolder, reference.churnByFolder)
      case .commitsByDay: difference(figure, commitsByDay, reference.commitsByDay)
      }
    }
  }

  private func difference(_ figure: Figure, _ count: Int, _ expected: Int) -> Difference? {
    guard count != expected else { return nil }
    return Difference(figure: figure, count: 1, examples: ["\(count) instead of \(expected)"])
  }

  private func difference<Key: FigureKey, Value: Equatable>(
    _ figure: Figure, _ values: [Key: Value], _ expected: [Key: Value]
  ) -> Difference? {
    guard values != expected else { return nil }
    let keys = Set(values.keys).union(expected.keys).filter { values[$0] != expected[$0] }.sorted()
    let examples = keys.prefix(Difference.shownExamples).map { key in
      "'\(key)' \(shown(values[key])) instead of \(shown(expected[key]))"
    }
    return Difference(figure: figure, count: keys.count, examples: Array(examples))
  }

  private func shown<Value>(_ value: Value?) -> String {
    value.map { "\($0)" } ?? "none"
  }
}
