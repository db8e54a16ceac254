/// The correspondence of two lists' elements, around insertions and removals.
package struct ListAlignment {
  package enum Row {
    /// The number of elements that are equal in both.
    case unchanged(Int)
    /// The indices, in the first and the second list, of an element that may have changed.
    case pair(Int, Int)
    /// Indices in the first list.
    case removed([Int])
    /// Indices in the second list.
    case inserted([Int])
  }

  package private(set) var rows: [Row] = []

  /// Compares two lists in about linear time.
  ///
  /// Between a common prefix and a common suffix, elements are matched by `DiffScript`, or by index if there are too
  /// many changes. Removals and insertions at one place are paired: in order if their numbers are equal, else by
  /// `id`.
  ///
  /// - Parameters:
  ///   - isSame: Whether two elements are equal.
  ///   - key: Returns the value by which `DiffScript` matches an element.
  package init(
    _ first: [Any], _ second: [Any], isSame: (Any, Any) -> Bool, key: (Any) -> AnyHashable
  ) {
    var start = 0
    let shorter = min(first.count, second.count)
    while start < shorter, isSame(first[start], second[start]) { start += 1 }
    var end = 0
    while end < shorter - start,
      isSame(first[first.count - 1 - end], second[second.count - 1 - end])
    {
      end += 1
    }
    if start > 0 { rows.append(.unchanged(start)) }
    addMiddle(first[start..<(first.count - end)], second[start..<(second.count - end)], key)
    if end > 0 { rows.append(.unchanged(end)) }
  }

  private mutating func addMiddle(
    _ first: ArraySlice<Any>, _ second: ArraySlice<Any>, _ key: (Any) -> AnyHashable
  ) {
    let steps =
      first.isEmpty || second.isEmpty
      ? nil : DiffScript(first.map(key), second.map(key))?.steps
    var gap = DiffGap()
    for step in steps ?? DiffScript.byIndex(first.count, second.count) {
      switch step {
      case .keep(let index, let other):
        add(gap, first, second)
        gap = DiffGap()
        rows.append(.pair(first.startIndex + index, second.startIndex + other))
      case .remove(let index):
        gap.removed.append(first.startIndex + index)
      case .insert(let index):
        gap.inserted.append(second.startIndex + index)
      }
    }
    add(gap, first, second)
  }

  private mutating func add(
    _ gap: borrowing DiffGap, _ first: ArraySlice<Any>, _ second: ArraySlice<Any>
  ) {
    let partners = Self.partners(gap, first, second)
    let changed = Set(partners.values)
    let removed = gap.removed.filter { !changed.contains($0) }
    if !removed.isEmpty { rows.append(.removed(removed)) }
    var inserted: [Int] = []
    for index in gap.inserted {
      guard let partner = partners[index] else {
        inserted.append(index)
        continue
      }
      if !inserted.isEmpty { rows.append(.inserted(inserted)) }
      inserted = []
      rows.append(.pair(partner, index))
    }
    if !inserted.isEmpty { rows.append(.inserted(inserted)) }
  }

  /// Returns, for inserted elements, the removed ones that they replace.
  private static func partners(
    _ gap: borrowing DiffGap, _ first: ArraySlice<Any>, _ second: ArraySlice<Any>
  ) -> [Int: Int] {
    if gap.removed.count == gap.inserted.count {
      return Dictionary(uniqueKeysWithValues: zip(gap.inserted, gap.removed))
    }
    let known = gap.removed.compactMap { index in
      DiffShape.identity(of: first[index]).map { ($0, index) }
    }
    let indexByID = Dictionary(known, uniquingKeysWith: { first, _ in first })
    var partners: [Int: Int] = [:]
    for index in gap.inserted {
      partners[index] = DiffShape.identity(of: second[index]).flatMap { indexByID[$0] }
    }
    return partners
  }
}
