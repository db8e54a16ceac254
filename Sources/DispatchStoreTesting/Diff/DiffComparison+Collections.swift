extension DiffComparison {
  /// Elements by place, and found again where others were inserted or removed.
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
    for step in steps ?? DiffScript.byPlace(expected.count, actual.count) {
      switch step {
      case .keep(let place, let other):
        add(gap, expected, actual, depth, &rows)
        gap = DiffGap()
        add(expected.startIndex + place, actual.startIndex + other, expected, actual, depth, &rows)
      case .remove(let place):
        gap.removed.append(expected.startIndex + place)
      case .insert(let place):
        gap.inserted.append(actual.startIndex + place)
      }
    }
    add(gap, expected, actual, depth, &rows)
  }

  /// What an element is found again by.
  private mutating func key(of element: Any) -> AnyHashable {
    element as? AnyHashable ?? AnyHashable(writer.line(element))
  }

  private mutating func add(
    _ place: Int, _ other: Int, _ expected: ArraySlice<Any>, _ actual: ArraySlice<Any>,
    _ depth: Int, _ rows: inout DiffRows
  ) {
    if rows.isFull {
      if isSame(expected[place], actual[other]) { rows.addUnchanged() } else { rows.addFurther(1) }
    } else if let lines = lines("[\(other)]: ", expected[place], actual[other], depth: depth) {
      rows.add(lines)
    } else {
      rows.addUnchanged()
    }
  }

  /// Shows what changed in place as such, found by `id` or, where as many came as went, by order.
  private mutating func add(
    _ gap: borrowing DiffGap, _ expected: ArraySlice<Any>, _ actual: ArraySlice<Any>, _ depth: Int,
    _ rows: inout DiffRows
  ) {
    var partners: [Int: Int] = [:]
    if gap.removed.count == gap.inserted.count {
      partners = Dictionary(uniqueKeysWithValues: zip(gap.inserted, gap.removed))
    } else {
      let known = gap.removed.compactMap { place in
        DiffShape.identity(of: expected[place]).map { ($0, place) }
      }
      let places = Dictionary(known, uniquingKeysWith: { first, _ in first })
      for place in gap.inserted {
        partners[place] = DiffShape.identity(of: actual[place]).flatMap { places[$0] }
      }
    }
    let changed = Set(partners.values)
    write(gap.removed.filter { !changed.contains($0) }, of: expected, .expected, depth, &rows)
    var inserted: [Int] = []
    for place in gap.inserted {
      if let partner = partners[place] {
        write(inserted, of: actual, .actual, depth, &rows)
        inserted = []
        add(partner, place, expected, actual, depth, &rows)
      } else {
        inserted.append(place)
      }
    }
    write(inserted, of: actual, .actual, depth, &rows)
  }

  private mutating func write(
    _ places: [Int], of elements: ArraySlice<Any>, _ mark: DiffLine.Mark, _ depth: Int,
    _ rows: inout DiffRows
  ) {
    guard !rows.isFull else { return rows.addFurther(places.count) }
    for place in places.prefix(DiffWriter.elementLimit) {
      rows.add(writer.lines("[\(place)]: ", elements[place], mark: mark, depth: depth))
    }
    if places.count > DiffWriter.elementLimit {
      rows.add([DiffLine(mark, depth, "… \(places.count - DiffWriter.elementLimit) more")])
    }
  }

  /// Entries by key, in the order of the keys' descriptions.
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
