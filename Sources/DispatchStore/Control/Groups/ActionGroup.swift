/// Steps that run one after the other or concurrently, as a value; groups nest.
///
///     let order = ActionGroup {
///       ActionStep(Reserve(item), mode: .serial(lane: item)).compensated(by: Release(item))
///       ActionGroup(.concurrent(limit: 2)) {
///         for address in addresses { Notify(address) }
///       }
///       if isGift { Wrap(item) }
///     }
///     let result = await dispatcher.send(order)
///
/// A step is an action, an `ActionStep`, or a nested group. A group may be run any number of times:
/// `Dispatcher.dispatch(_:then:onProgress:)` returns a handle at once, `Dispatcher.send(_:onProgress:)` runs it in
/// the caller's own task.
///
/// A group succeeds if all of its steps do. The first step that fails, is vetoed or cancelled stops its group: a
/// sequence skips the rest, and a concurrent group also cancels the steps that run. The group has then failed, which
/// stops the enclosing group. Before it ends, the outermost stopped group compensates the steps finished in it
/// (`ActionStep.compensated(by:to:mode:options:ifOnlyBegun:)`).
///
/// A group takes memory linear in the number of steps; building takes time linear in it for each level of nesting.
public struct ActionGroup: Sendable {
  /// How the steps of a group run.
  public struct Order: Hashable, Sendable {
    /// The number of steps that run at once; nil for a sequence.
    let limit: Int?

    /// Runs the steps one after the other.
    public static let sequence = Order(limit: nil)

    /// Runs the steps concurrently, however many there are.
    public static let concurrent = concurrent(limit: .max)

    /// Runs up to a number of steps at once; they start in the order in which they are written.
    ///
    /// - Precondition: The limit is positive.
    public static func concurrent(limit: Int) -> Order {
      if limit < 1 {
        stopProgram("A group was made with the limit \(limit): none of its steps could run.")
      }
      return Order(limit: limit)
    }
  }

  /// The group and all nested elements, in the order in which they are written.
  private(set) var nodes: [GroupNode]

  /// Makes a group of steps.
  ///
  /// - Parameters:
  ///   - order: How the steps run.
  ///   - content: The steps.
  public init(_ order: Order = .sequence, @ListBuilder<Content> _ content: () -> [Content]) {
    let content = content().flatMap(\.nodes)
    nodes = [GroupNode(limit: order.limit, size: content.count + 1)] + content
  }

  /// Returns this group, in which a step that fails, is vetoed or cancelled does not keep others from running.
  ///
  /// The group fails at the end if one of its steps has. Its finished steps are compensated only if it is cancelled,
  /// or if an enclosing group stops.
  public func continuingOnFailure() -> ActionGroup {
    var copy = self
    copy.nodes[0].continuesOnFailure = true
    return copy
  }

  /// The number of steps, including those of nested groups.
  package var stepCount: Int {
    nodes.lazy.filter(\.isStep).count
  }

  /// A step, or a nested group, between the braces of a group.
  public struct Content: Sendable {
    let nodes: [GroupNode]
  }
}

// Disfavored, so that the compiler does not speak of groups if something is wrong between the braces of handlers.
extension ListBuilder<ActionGroup.Content> {
  /// Takes a step.
  @_disfavoredOverload
  public static func buildExpression(_ step: ActionStep) -> [Element] {
    [Element(nodes: [GroupNode(step: step.step, undo: step.undo, size: 1)])]
  }

  /// Takes an action, as a step in mode `.async`.
  @_disfavoredOverload
  public static func buildExpression(
    _ action: some ActionType, fileID: StaticString = #fileID, line: UInt = #line
  ) -> [Element] {
    buildExpression(ActionStep(action, fileID: fileID, line: line))
  }

  /// Takes a nested group.
  @_disfavoredOverload
  public static func buildExpression(_ group: ActionGroup) -> [Element] {
    [Element(nodes: group.nodes)]
  }
}
