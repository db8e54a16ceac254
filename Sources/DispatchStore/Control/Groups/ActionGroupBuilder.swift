/// Builds the steps of an `ActionGroup`, with `if`, `switch` and `for`.
@resultBuilder
public enum ActionGroupBuilder {
  /// A step.
  public static func buildExpression(_ step: ActionStep) -> ActionGroup.Content {
    ActionGroup.Content(nodes: [GroupNode(.step(step.step), size: 1)])
  }

  /// An action in mode `.async`.
  public static func buildExpression(
    _ action: some ActionType, fileID: StaticString = #fileID, line: UInt = #line
  ) -> ActionGroup.Content {
    buildExpression(ActionStep(action, fileID: fileID, line: line))
  }

  /// A group in the group.
  public static func buildExpression(_ group: ActionGroup) -> ActionGroup.Content {
    ActionGroup.Content(nodes: group.nodes)
  }

  /// One after the other.
  public static func buildBlock(_ parts: ActionGroup.Content...) -> ActionGroup.Content {
    buildArray(parts)
  }

  /// Of an `if` without `else`.
  public static func buildOptional(_ part: ActionGroup.Content?) -> ActionGroup.Content {
    part ?? ActionGroup.Content(nodes: [])
  }

  /// Of an `if`, or a `switch`.
  public static func buildEither(first part: ActionGroup.Content) -> ActionGroup.Content { part }

  /// Of an `else`, or a `switch`.
  public static func buildEither(second part: ActionGroup.Content) -> ActionGroup.Content { part }

  /// Of a `for` loop.
  public static func buildArray(_ parts: [ActionGroup.Content]) -> ActionGroup.Content {
    if parts.count == 1 { return parts[0] }
    var nodes: [GroupNode] = []
    nodes.reserveCapacity(parts.reduce(0) { $0 + $1.nodes.count })
    for part in parts { nodes += part.nodes }
    return ActionGroup.Content(nodes: nodes)
  }

  /// Of an `if #available`.
  public static func buildLimitedAvailability(
    _ part: ActionGroup.Content
  ) -> ActionGroup.Content { part }
}
