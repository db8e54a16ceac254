/// Collects the handlers between the braces of a store, of `Handlers` or of `Part`.
@resultBuilder
public enum HandlerBuilder<Model: Sendable> {
  /// Takes a handler, a part, or a group of them.
  public static func buildExpression(_ component: some HandlerComponent<Model>) -> Handlers<Model> {
    component.handlers
  }

  /// Combines statements, in order.
  public static func buildBlock(_ parts: Handlers<Model>...) -> Handlers<Model> {
    buildArray(parts)
  }

  /// Takes the statements of an `if`.
  public static func buildOptional(_ part: Handlers<Model>?) -> Handlers<Model> {
    part ?? Handlers([])
  }

  /// Takes the statements of the `if` branch.
  public static func buildEither(first part: Handlers<Model>) -> Handlers<Model> { part }

  /// Takes the statements of the `else` branch.
  public static func buildEither(second part: Handlers<Model>) -> Handlers<Model> { part }

  /// Takes the statements of a loop.
  public static func buildArray(_ parts: [Handlers<Model>]) -> Handlers<Model> {
    Handlers(parts.flatMap(\.all))
  }
}
