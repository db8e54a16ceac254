/// A selector that computes its value from the values of others; made by `StateSelector.combine`.
///
/// You can use it wherever a `StateSelector` is used.
public final class CombinedSelector<Model: Sendable, Value: Sendable, each Input: Sendable>:
  StateSelector<Model, Value>, @unchecked Sendable
{
  // because its superclass is, and it is constant, too
  private let project: @Sendable (repeat each Input) -> Value

  init(
    _ inputs: repeat StateSelector<Model, each Input>,
    projector: @escaping @Sendable (repeat each Input) -> Value
  ) {
    project = projector
    var nodes: [SelectorNode] = []
    for input in repeat each inputs { nodes.append(input.node) }
    super.init(
      TypedSelectorNode(of: nodes) { values in
        var values = values
        return projector(repeat values.next((each Input).self))
      })
  }

  /// Computes the value from the inputs' values, without a store or a model, for tests.
  public func projector(_ inputs: repeat each Input) -> Value {
    project(repeat each inputs)
  }
}
