/// Collects what stands between the braces of a store's handlers, of a `Part` or of an `ActionGroup`.
///
/// There you may use `if`, `switch` and `for`.
@resultBuilder
public enum ListBuilder<Element> {
  /// Joins statements, in the order in which they are written.
  public static func buildBlock(_ parts: [Element]...) -> [Element] { buildArray(parts) }

  /// Takes the statements of an `if` without `else`.
  public static func buildOptional(_ part: [Element]?) -> [Element] { part ?? [] }

  /// Takes the statements of an `if` branch, or of a `case`.
  public static func buildEither(first part: [Element]) -> [Element] { part }

  /// Takes the statements of the `else` branch, or of a `case`.
  public static func buildEither(second part: [Element]) -> [Element] { part }

  /// Takes the statements of a loop.
  public static func buildArray(_ parts: [[Element]]) -> [Element] { Array(parts.joined()) }
}
