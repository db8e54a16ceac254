import DispatchStore

/// Compares two values part by part.
struct DiffComparison {
  var writer = DiffWriter()
  /// Whether a NaN doesn't differ from another one of its type, though `==` says so.
  var takesNaNAsEqual = false
  private var nanPairCount = 0
  /// The pairs of objects on the path to the current one.
  ///
  /// A pair that is found again ends a cycle.
  private var ancestors: [ObjectPair] = []

  private struct ObjectPair: Equatable {
    let expected: ObjectIdentifier
    let actual: ObjectIdentifier
  }

  /// Returns the lines that show how the values differ, or nil if they don't.
  ///
  /// - Parameter prefix: The values' label.
  mutating func lines(
    _ prefix: String, _ expected: Any, _ actual: Any, depth: Int
  ) -> [DiffLine]? {
    let (expected, actual) = (DiffShape.unwrap(expected), DiffShape.unwrap(actual))
    let isEqual = DiffShape.isEqual(expected, actual)
    if isEqual == true { return nil }
    if takesNaNAsEqual, type(of: expected) == type(of: actual),
      ModelComparison.areNaN(expected, actual)
    {
      nanPairCount += 1
      return nil
    }
    let pair = objects(expected, actual)
    if let pair {
      if pair.expected == pair.actual || ancestors.contains(pair) { return nil }
      ancestors.append(pair)
    }
    defer { if pair != nil { ancestors.removeLast() } }
    let nanPairs = nanPairCount
    if let lines = parts(prefix, expected, actual, depth) { return lines }
    // A type's `==` may find a difference that its parts don't show.
    guard isEqual == false, nanPairCount == nanPairs else { return nil }
    let same = writer.lines(prefix, actual, mark: .same, depth: depth)
    return same + [DiffLine(.same, depth, "(prints the same, but == returns false)")]
  }

  private func objects(_ expected: Any, _ actual: Any) -> ObjectPair? {
    guard type(of: expected) is AnyClass, type(of: actual) is AnyClass else { return nil }
    return ObjectPair(
      expected: ObjectIdentifier(expected as AnyObject),
      actual: ObjectIdentifier(actual as AnyObject))
  }

  private mutating func parts(
    _ prefix: String, _ expected: Any, _ actual: Any, _ depth: Int
  ) -> [DiffLine]? {
    let isSameType = type(of: expected) == type(of: actual)
    switch (DiffShape(expected), DiffShape(actual)) {
    case (.leaf(let left), .leaf(let right)) where isSameType && left == right:
      return nil
    case (.text(let left), .text(let right)):
      return text(prefix, left, right, depth)
    case (.fields(let name, let left), .fields(let other, let right))
    where isSameType && name == other && left.map(\.label) == right.map(\.label):
      return frame(prefix + name + "(", fields(left, right, depth + 1), ")", depth)
    case (.list(let left), .list(let right)):
      return frame(prefix + "[", list(left, right, depth + 1), "]", depth)
    case (.entries(let left), .entries(let right)):
      return frame(prefix + "[", entries(left, right, depth + 1), "]", depth)
    case (.members(let left), .members(let right)):
      return frame(prefix + "Set(", members(left, right, depth + 1), ")", depth)
    default:
      return replaced(prefix, expected, actual, depth)
    }
  }

  private func frame(
    _ start: String, _ inner: [DiffLine]?, _ end: String, _ depth: Int
  ) -> [DiffLine]? {
    inner.map { [DiffLine(.same, depth, start)] + $0 + [DiffLine(.same, depth, end)] }
  }

  /// Returns both values, or one and the types if they print alike.
  mutating func replaced(
    _ prefix: String, _ expected: Any, _ actual: Any, _ depth: Int
  ) -> [DiffLine] {
    let old = writer.lines(prefix, expected, mark: .expected, depth: depth)
    let new = writer.lines(prefix, actual, mark: .actual, depth: depth)
    guard old.map({ $0.text }) == new.map({ $0.text }) else { return old + new }
    let same = writer.lines(prefix, actual, mark: .same, depth: depth)
    let types = "is of type \(Self.typeName(of: actual)), not \(Self.typeName(of: expected))"
    return same + [DiffLine(.same, depth, "(prints the same, but \(types))")]
  }

  /// Returns the full name of a value's type, without the address that stands for a private context.
  private static func typeName(of value: Any) -> String {
    String(reflecting: type(of: value)).replacing(#/\(unknown context at [^)]*\)\./#, with: "")
  }

  /// Returns the fields that differ, and the `id`.
  ///
  /// Counts the other fields.
  private mutating func fields(
    _ expected: [DiffField], _ actual: [DiffField], _ depth: Int
  ) -> [DiffLine]? {
    var rows = DiffRows(depth: depth)
    for (left, right) in zip(expected, actual) {
      if let lines = lines(left.prefix, left.value, right.value, depth: depth) {
        rows.add(lines)
      } else if left.label == "id" {
        rows.addContext(writer.lines(left.prefix, left.value, mark: .same, depth: depth))
      } else {
        rows.addUnchanged()
      }
    }
    return rows.finished
  }
}
