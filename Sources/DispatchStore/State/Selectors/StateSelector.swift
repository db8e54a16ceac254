/// A value derived from a model, computed again only when its inputs have changed.
///
/// Make a selector from a key path or a closure, which read the model, or combine other selectors with a projector:
///
///     enum CartSelectors {
///       static let items = StateSelector(\Cart.items)
///       static let discount = StateSelector(\Cart.discount)
///       static let total = StateSelector.combine(items, discount) { items, discount in
///         items.reduce(0) { $0 + $1.price } * (100 - discount) / 100
///       }
///     }
///     store.select(CartSelectors.total)
///
/// A store keeps the last value of each selector that you select from it, as long as both exist. So make a selector
/// once and reuse it. The store also retains the values that a selector reads. If one is an array, the next commit
/// that changes the array copies it.
///
/// - An input whose type is `Equatable`: Equal values are no change.
/// - An input of another type that is read from the model: It counts as changed at each commit.
/// - An input of another type that is combined: It counts as changed if one of its own inputs has changed.
/// - An input that is as before again: It counts as changed if another selector that reads it was selected in between,
///   or at the same time by another thread.
///
/// A selector's closures may be called on several threads at once, so they must depend only on their arguments.
/// Closures that read the model run in the store's exclusive section, so keep them quick. Projectors run outside it,
/// with no lock held.
public class StateSelector<Model: Sendable, Value: Sendable>: @unchecked Sendable {
  // because it is constant, and has no subclass but `CombinedSelector`
  let node: TypedSelectorNode<Value>

  init(_ node: TypedSelectorNode<Value>) {
    self.node = node
  }

  /// Makes a selector that reads a part of the model.
  public convenience init(_ keyPath: any KeyPath<Model, Value> & Sendable) {
    let part = ModelPart(keyPath)
    self.init(TypedSelectorNode(reading: { model in part.read(of: model) { $0.pointee } }))
  }

  /// Makes a selector that reads the model with a closure.
  ///
  /// - Parameter read: Called in the store's exclusive section: by `Store.select` if the model has changed since the last
  ///   call, and for each observer and stream at each commit. A stream may call it again when its consumer takes the
  ///   change. Must read only its argument. To compute a value from parts of the model, combine selectors of these parts.
  public convenience init(_ read: @escaping @Sendable (Model) -> Value) {
    self.init(
      TypedSelectorNode(reading: { read($0.assumingMemoryBound(to: Model.self).pointee) }))
  }

  /// Makes a selector that computes its value from the values of others.
  ///
  /// - Parameters:
  ///   - inputs: The other selectors, of the same model; any number.
  ///   - projector: Called if an input has changed, outside the store's exclusive section. The arguments are the inputs'
  ///     values in one version of the model. Threads that select at the same time may each call it.
  public static func combine<each Input: Sendable>(
    _ inputs: repeat StateSelector<Model, each Input>,
    projector: @escaping @Sendable (repeat each Input) -> Value
  ) -> CombinedSelector<Model, Value, repeat each Input> {
    CombinedSelector(repeat each inputs, projector: projector)
  }

  /// Computes the value for a model, and keeps nothing.
  ///
  /// Use it in tests, or inside a store's exclusive section, with the model that you have there. Each selector that
  /// this one is combined from is computed once.
  public func callAsFunction(_ model: Model) -> Value {
    var evaluation = SelectorEvaluation(of: node)
    withUnsafePointer(to: model) { evaluation.read(UnsafeRawPointer($0)) }
    return node.value(of: evaluation.finish())
  }
}
