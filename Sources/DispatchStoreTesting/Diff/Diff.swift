import DispatchStore

/// Describes how an actual value differs from an expected one, as text for people.
///
/// Compares values by `==` if their type has it, and otherwise field by field, by reflection. The order of lines
/// depends only on the values, and no line contains an address.
public enum Diff {
  /// Returns the differences as text: `−` lines are expected, `+` lines are actual.
  ///
  /// The text shows only differences, with an element's `id`, and counts the equal parts: `… 12 unchanged`. It
  /// matches the elements of arrays around insertions and removals, up to 200 of those. Time is about linear in the
  /// size of the values: 10,000 elements take a few tenths of a second at most.
  ///
  /// - Returns: The text, or nil if nothing differs.
  public static func text<Value>(expected: Value, actual: Value) -> String? {
    var comparison = DiffComparison()
    return comparison.lines("", expected, actual, depth: 0).map(DiffLine.text)
  }

  /// Returns whether nothing differs: by `==` if the type has it, otherwise by reflection.
  package static func areEqual<Value>(_ expected: Value, _ actual: Value) -> Bool {
    if let isEqual = DiffShape.isEqual(expected, actual) { return isEqual }
    var comparison = DiffComparison()
    return comparison.lines("", expected, actual, depth: 0) == nil
  }

  /// Returns a value on one line, however long.
  static func line(_ value: Any) -> String {
    var writer = DiffWriter()
    return writer.line(value) ?? ""
  }

  /// Returns a value on one line if it fits, and otherwise on several.
  static func describe(_ value: Any) -> String {
    var writer = DiffWriter()
    return DiffLine.plainText(writer.lines("", value, mark: .same, depth: 0))
  }
}
