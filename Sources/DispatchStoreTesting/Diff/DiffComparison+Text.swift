import DispatchStore

extension DiffComparison {
  /// Compares strings of several lines line by line, and other strings as a whole.
  mutating func text(
    _ prefix: String, _ expected: String, _ actual: String, _ depth: Int
  ) -> [DiffLine]? {
    guard expected != actual else { return nil }
    let (left, right) = (Self.split(expected), Self.split(actual))
    guard left.count > 1 || right.count > 1 else {
      return replaced(prefix, expected, actual, depth)
    }
    var rows = DiffRows(depth: depth + 1)
    var gap = DiffGap()
    for step in DiffScript(left, right)?.steps ?? DiffScript.byIndex(left.count, right.count) {
      switch step {
      case .keep(let index, let other) where left[index] == right[other]:
        rows.add(gap, left, right, depth + 1)
        gap = DiffGap()
        rows.addUnchanged()
      case .keep(let index, let other):
        gap.removed.append(index)
        gap.inserted.append(other)
      case .remove(let index):
        gap.removed.append(index)
      case .insert(let index):
        gap.inserted.append(index)
      }
    }
    rows.add(gap, left, right, depth + 1)
    let quotes = DiffLine(.same, depth, "\"\"\"")
    return [DiffLine(.same, depth, prefix + "\"\"\"")] + (rows.finished ?? []) + [quotes]
  }

  private static func split(_ text: String) -> [String] {
    text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).map(String.init)
  }
}

extension DiffRows {
  fileprivate mutating func add(
    _ gap: borrowing DiffGap, _ left: [String], _ right: [String], _ depth: Int
  ) {
    guard !gap.isEmpty else { return }
    add(
      gap.removed.map { DiffLine(.expected, depth, left[$0]) }
        + gap.inserted.map { DiffLine(.actual, depth, right[$0]) })
  }
}
