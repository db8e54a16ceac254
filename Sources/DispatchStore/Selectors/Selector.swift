/// A value derived from a model, computed again only when what it is derived from has changed.
///
/// Make one from a key path or a closure, which read the model, or combine others by a projector:
///
///     enum CartSelectors {
///       static let items = Selector(\Cart.items)
///       static let discount = Selector(\Cart.discount)
///       static let total = Selector.combine(items, discount) { items, discount in
///         items.reduce(0) { $0 + $1.price } * (100 - discount) / 100
///       }
///     }
///     store.select(CartSelectors.total)
///
/// A store keeps the last value of each selector that was selected from it, as long as both exist; so make a
/// selector once, and use it again. Two inputs are the same where they are equal, if their type is `Equatable`; a
/// value of another type that is read from the model counts as changed by each commit, and one that is combined,
/// whenever an input of it has changed. What a selector reads is kept, too: if that is an array, the next commit
/// that changes it copies it.
///
/// Its closures may be called on several threads at once; each computes from its arguments alone. Those that read
/// the model run in the store's exclusive section, so they are quick; projectors run outside of it, and no lock is
/// held meanwhile.
///
/// On Apple platforms Objective-C has a type of this name: where a file names the type and imports Foundation, too,
/// write `DispatchStore.Selector`.
public class Selector<Model: Sendable, Value: Sendable>: @unchecked Sendable {
  // because it is constant, and has no subclass but `CombinedSelector`
  let node: TypedSelectorNode<Value>

  init(_ node: TypedSelectorNode<Value>) {
    self.node = node
  }

  /// Makes a selector that reads a part of the model.
  public convenience init(_ keyPath: any KeyPath<Model, Value> & Sendable) {
    self.init { $0[keyPath: keyPath] }
  }

  /// Makes a selector that reads the model with a closure.
  ///
  /// - Parameter read: Called in the store's exclusive section, once for each version of the model in which the
  ///   selector is used: it reads its argument alone. To compute something from parts of the model, combine
  ///   selectors of these parts.
  public convenience init(_ read: @escaping @Sendable (Model) -> Value) {
    self.init(
      TypedSelectorNode(reading: { read($0.assumingMemoryBound(to: Model.self).pointee) }))
  }

  /// Makes a selector that computes its value from those of others.
  ///
  /// - Parameters:
  ///   - inputs: The others, of the same model; any number.
  ///   - projector: Called where an input has changed, with the values that all of them have in one version of the
  ///     model, outside the store's exclusive section. Threads that select at the same time may each call it.
  public static func combine<each Input: Sendable>(
    _ inputs: repeat Selector<Model, each Input>,
    projector: @escaping @Sendable (repeat each Input) -> Value
  ) -> CombinedSelector<Model, Value, repeat each Input> {
    CombinedSelector(repeat each inputs, projector: projector)
  }

  /// Makes a selector that computes its value from a part of the model, and from those of others.
  ///
  /// - Parameters:
  ///   - part: What is read of the model.
  ///   - inputs: The others, of the same model; any number.
  ///   - projector: Called where the part or an input has changed, as for selectors alone.
  public static func combine<Part: Sendable, each Input: Sendable>(
    _ part: any KeyPath<Model, Part> & Sendable, _ inputs: repeat Selector<Model, each Input>,
    projector: @escaping @Sendable (Part, repeat each Input) -> Value
  ) -> CombinedSelector<Model, Value, Part, repeat each Input> {
    CombinedSelector(Selector<Model, Part>(part), repeat each inputs, projector: projector)
  }

  /// Computes the value for a model; keeps nothing.
  ///
  /// For tests, and for code inside the exclusive section of a store, which has its model at hand. Each selector
  /// that it is combined from is computed once.
  public func callAsFunction(_ model: Model) -> Value {
    var evaluation = SelectorEvaluation(of: node)
    withUnsafePointer(to: model) { evaluation.read(UnsafeRawPointer($0)) }
    return node.value(of: evaluation.finish())
  }
}
