/// What a store does for actions of several types, each by a handler: a reducer that is written part by part.
///
///     let counter = Store(identifier: "counter", model: Counter()) {
///       On(Increment.self) { counter, action in counter.count += action.by }
///       On(Reset.self) { counter, _ in counter.count = 0 }
///       Performing(Load.self) { action, store in
///         let count = try await load(action.id)
///         store.updateModel { $0.count = count }
///       }
///     }
///
/// Each action type is routed by itself: a store without a handler for it takes no part, and costs its dispatches
/// nothing. Of two handlers of one action type the last one counts; reductions in different `Part`s of the model both do, in
/// order, in one commit. Where the type is a class, a handler gets its subclasses too, unless they have one.
///
/// `Handlers` may be kept, and used for many stores, or as a part of others: then its handlers exist once.
public struct Handlers<Model: Sendable>: HandlerComponent, Sendable {
  @usableFromInline var all: [Handler<Model>]

  /// Gathers handlers.
  public init(@HandlerBuilder<Model> _ content: () -> Handlers) {
    self = content()
  }

  @usableFromInline
  init(_ all: [Handler<Model>]) {
    self.all = all
  }

  /// The handlers themselves.
  public var handlers: Handlers { self }

  /// The action types for which there are handlers, in order.
  public var actionTypes: [any ActionType.Type] { HandlerTable(self).all.map(\.actionType) }
}

/// What may stand between the braces of `Handlers`: `On`, `Applying`, `Performing`, `Operating`, `Part` or `Handlers`.
public protocol HandlerComponent<Model> {
  /// The model of the store.
  associatedtype Model: Sendable
  /// The handlers that it stands for.
  var handlers: Handlers<Model> { get }
}
