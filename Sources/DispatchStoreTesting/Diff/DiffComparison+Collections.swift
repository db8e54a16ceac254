extension DiffComparison {
  /// Compares elements by index, and matches them around insertions and removals.
  mutating func list(_ expected: [Any], _ actual: [Any], _ depth: Int) -> [DiffLine]? {
    var start = 0
    let shorter = min(expected.count, actual.count)
    while start < shorter, isSame(expected[start], actual[start]) { start += 1 }
    var end = 0
    while end < shorter - start,
      isSame(expected[expected.count - 1 - end], actual[actual.count - 1 - end])
    {
      end += 1
    }
    var rows = DiffRows(depth: depth)
    rows.addUnchanged(start)
    middle(
      expected[start..<(expected.count - end)], actual[start..<(actual.count - end)], depth, &rows)
    rows.addUnchanged(end)
    return rows.finished
  }

  private mutating func isSame(_ expected: Any, _ actual: Any) -> Bool {
    DiffShape.isEqual(expected, actual) ?? (lines("", expected, actual, depth: 0) == nil)
  }

  private mutating func middle(
    _ expected: ArraySlice<Any>, _ actual: ArraySlice<Any>, _ depth: Int, _ rows: inout DiffRows
  ) {
    let steps =
      expected.isEmpty || actual.isEmpty
      ? nil : DiffScript(expected.map { key(of: $0) }, actual.map { key(of: $0) })?.steps
    var gap = DiffGap()
    for step in steps ?? DiffScript.byIndex(expected.count, actual.count) {
      switch step {
      case .keep(let index, let other):
        add(gap, expected, actual, depth, &rows)
        gap = DiffGap()
        add(expected.startIndex + index, actual.startIndex + other, expected, actual, depth, &rows)
      case .remove(let index):
        gap.removed.append(expected.startIndex + index)
      case .insert(let index):
        gap.inserted.append(actual.startIndex + index)
      }
    }
    add(gap, expected, actual, depth, &rows)
  }

  /// The value by which `DiffScript` matches an element.
  private mutating func key(of element: Any) -> AnyHashable {
    element as? AnyHashable ?? AnyHashable(writer.line(element))
  }

  private mutating func add(
    _ index: Int, _ other: Int, _ expected: ArraySlice<Any>, _ actual: ArraySlice<Any>,
    _ depth: Int, _ rows: inout DiffRows
  ) {
    if rows.isFull {
      if isSame(expected[index], actual[other]) { rows.addUnchanged() } else { rows.addFurther(1) }
    } else if let lines = lines("[\(other)]: ", expected[index], actual[other], depth: depth) {
      rows.add(lines)
    } else {
      rows.addUnchanged()
    }
  }

  /// Pairs removed with inserted elements, by order where their counts are equal, else by `id`, and shows
  /// each pair as one element that changed.
  private mutating func add(
    _ gap: borrowing DiffGap, _ expected: ArraySlice<Any>, _ actual: ArraySlice<Any>, _ depth: Int,
    _ rows: inout DiffRows
  ) {
    var partners: [Int: Int] = [:]
    if gap.removed.count == gap.inserted.count {
      partners = Dictionary(uniqueKeysWithValues: zip(gap.inserted, gap.removed))
    } else {
      let known = gap.removed.compactMap { index in
        DiffShape.identity(of: expected[index]).map { ($0, index) }
      }
      let indexByID = Dictionary(known, uniquingKeysWith: { first, _ in first })
      for index in gap.inserted {
        partners[index] = DiffShape.identity(of: actual[index]).flatMap { indexByID[$0] }
      }
    }
    let changed = Set(partners.values)
    write(gap.removed.filter { !changed.contains($0) }, of: expected, .expected, depth, &rows)
    var inserted: [Int] = []
    for index in gap.inserted {
      if let partner = partners[index] {
        write(inserted, of: actual, .actual, depth, &rows)
        inserted = []
        add(partner, index, expected, actual, depth, &rows)
      } else {
        inserted.append(index)
      }
    }
    write(inserted, of: actual, .actual, depth, &rows)
  }

  private mutating func write(
    _ indices: [Int], of elements: ArraySlice<Any>, _ mark: DiffLine.Mark, _ depth: Int,
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
