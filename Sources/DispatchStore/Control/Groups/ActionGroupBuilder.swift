/// Builds the steps of an `ActionGroup`, with `if`, `switch` and `for`.
@resultBuilder
public enum ActionGroupBuilder {
  /// Adds a step.
  public static func buildExpression(_ step: ActionStep) -> ActionGroup.Content {
    ActionGroup.Content(nodes: [GroupNode(.step(step.step), size: 1)])
  }

  /// Adds an action in mode `.async`.
  public static func buildExpression(
    _ action: some ActionType, fileID: StaticString = #fileID, line: UInt = #line
  ) -> ActionGroup.Content {
    buildExpression(ActionStep(action, fileID: fileID, line: line))
  }

  /// Adds a nested group.
  public static func buildExpression(_ group: ActionGroup) -> ActionGroup.Content {
    ActionGroup.Content(nodes: group.nodes)
  }

  /// Joins parts, in the order in which they are written.
  public static func buildBlock(_ parts: ActionGroup.Content...) -> ActionGroup.Content {
    buildArray(parts)
  }

  /// Supports `if` without `else`.
  public static func buildOptional(_ part: ActionGroup.Content?) -> ActionGroup.Content {
    part ?? ActionGroup.Content(nodes: [])
  }

  /// Supports `if` and `switch`.
  public static func buildEither(first part: ActionGroup.Content) -> ActionGroup.Content { part }

  /// Supports `else` and `switch`.
  public static func buildEither(second part: ActionGroup.Content) -> ActionGroup.Content { part }

  /// Supports `for` loops.
  public static func buildArray(_ parts: [ActionGroup.Content]) -> ActionGroup.Content {
    if parts.count == 1 { return parts[0] }
    var nodes: [GroupNode] = []
    nodes.reserveCapacity(parts.reduce(0) { $0 + $1.nodes.count })
    for part in parts { nodes += part.nodes }
    return ActionGroup.Content(nodes: nodes)
  }
}
