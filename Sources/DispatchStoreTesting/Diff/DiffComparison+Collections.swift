import DispatchStore

extension DiffComparison {
  /// Compares elements by index, and matches them around insertions and removals.
  mutating func list(_ expected: [Any], _ actual: [Any], _ depth: Int) -> [DiffLine]? {
    var rows = DiffRows(depth: depth)
    let alignment = ListAlignment(
      expected, actual, isSame: { isSame($0, $1) }, key: { Self.key(of: $0) })
    for row in alignment.rows {
      switch row {
      case .unchanged(let count):
        rows.addUnchanged(count)
      case .pair(let index, let other):
        add(index, other, expected, actual, depth, &rows)
      case .removed(let indices):
        write(indices, of: expected, .expected, depth, &rows)
      case .inserted(let indices):
        write(indices, of: actual, .actual, depth, &rows)
      }
    }
    return rows.finished
  }

  private mutating func isSame(_ expected: Any, _ actual: Any) -> Bool {
    if let isEqual = DiffShape.isEqual(expected, actual), isEqual || !takesNaNAsEqual {
      return isEqual
    }
    return lines("", expected, actual, depth: 0) == nil
  }

  /// Returns the value by which elements are matched.
  private static func key(of element: Any) -> AnyHashable {
    var writer = DiffWriter()
    return element as? AnyHashable ?? AnyHashable(writer.line(element))
  }

  private mutating func add(
    _ index: Int, _ other: Int, _ expected: [Any], _ actual: [Any], _ depth: Int,
    _ rows: inout DiffRows
  ) {
    if rows.isFull {
      if isSame(expected[index], actual[other]) { rows.addUnchanged() } else { rows.addFurther(1) }
    } else if let lines = lines("[\(other)]: ", expected[index], actual[other], depth: depth) {
      rows.add(lines)
    } else {
      rows.addUnchanged()
    }
  }

  private mutating func write(
    _ indices: [Int], of elements: [Any], _ mark: DiffLine.Mark, _ depth: Int,
    _ rows: inout DiffRows
  ) {
    guard !rows.isFull else { return rows.addFurther(indices.count) }
    for index in indices.prefix(DiffWriter.elementLimit) {
      rows.add(writer.lines("[\(index)]: ", elements[index], mark: mark, depth: depth))
    }
    if indices.count > DiffWriter.elementLimit {
      rows.add([DiffLine(mark, depth, "… \(indices.count - DiffWriter.elementLimit) more")])
    }
  }

  /// Compares entries by key, and shows them in the order of the keys' descriptions.
  mutating func entries(
    _ expected: [AnyHashable: Any], _ actual: [AnyHashable: Any], _ depth: Int
  ) -> [DiffLine]? {
    var changes: [(key: String, lines: [DiffLine])] = []
    for (key, value) in expected {
      let other = actual[key]
      if let other, isSame(value, other) { continue }
      let name = writer.line(key.base) ?? ""
      let lines =
        other.map { self.lines(name + ": ", value, $0, depth: depth) ?? [] }
        ?? writer.lines(name + ": ", value, mark: .expected, depth: depth)
      changes.append((name, lines))
    }
    let unchanged = expected.count - changes.count
    for (key, value) in actual where expected[key] == nil {
      let name = writer.line(key.base) ?? ""
      changes.append((name, writer.lines(name + ": ", value, mark: .actual, depth: depth)))
    }
    return finished(changes, unchanged: unchanged, depth)
  }

  mutating func members(
    _ expected: Set<AnyHashable>, _ actual: Set<AnyHashable>, _ depth: Int
  ) -> [DiffLine]? {
    var changes: [(key: String, lines: [DiffLine])] = []
    for (members, mark) in [
      (expected.subtracting(actual), DiffLine.Mark.expected),
      (actual.subtracting(expected), .actual),
    ] {
      for member in members {
        let lines = writer.lines("", member.base, mark: mark, depth: depth)
        changes.append((DiffLine.plainText(lines), lines))
      }
    }
    return finished(changes, unchanged: expected.intersection(actual).count, depth)
  }

  private func finished(
    _ changes: [(key: String, lines: [DiffLine])], unchanged: Int, _ depth: Int
  ) -> [DiffLine]? {
    var rows = DiffRows(depth: depth)
    for change in changes.sorted(by: { $0.key < $1.key }) { rows.add(change.lines) }
    rows.addUnchanged(unchanged)
    return rows.finished
  }
}
