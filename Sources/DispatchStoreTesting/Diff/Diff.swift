import DispatchStore

/// Describes how an actual value differs from an expected one, as text for people.
///
/// It compares values by `==` where their type has one, else field by field, by reflection. The order of
/// lines follows from the values alone, and no line contains an address.
public enum Diff {
  /// How a value differs: `−` lines are of the expected one, `+` lines of the actual one.
  ///
  /// The text shows only what differs, with an element's `id`, and counts what is equal: `… 12 unchanged`.
  /// It matches the elements of arrays around insertions and removals, up to 200 of those. Time is about
  /// linear in the size of the values; 10,000 elements take some tenths of a second at most.
  ///
  /// - Returns: Nil where nothing differs.
  public static func text<Value>(expected: Value, actual: Value) -> String? {
    var comparison = DiffComparison()
    return comparison.lines("", expected, actual, depth: 0).map(DiffLine.text)
  }

  /// Whether nothing differs: by `==` where the type has one, else by reflection.
  package static func areEqual<Value>(_ expected: Value, _ actual: Value) -> Bool {
    if let isEqual = DiffShape.isEqual(expected, actual) { return isEqual }
    var comparison = DiffComparison()
    return comparison.lines("", expected, actual, depth: 0) == nil
  }

  /// A value on one line, however long.
  static func line(_ value: Any) -> String {
    var writer = DiffWriter()
    return writer.line(value) ?? ""
  }

  /// A value on one line, where it fits, else on several.
  static func describe(_ value: Any) -> String {
    var writer = DiffWriter()
    return DiffLine.plainText(writer.lines("", value, mark: .same, depth: 0))
  }
}
