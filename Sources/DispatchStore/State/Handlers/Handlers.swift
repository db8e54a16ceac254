/// A reducer written as a list of handlers, one for each action type.
///
///     let counter = Store(identifier: "counter", model: Counter()) {
///       On(Increment.self) { counter, action in counter.count += action.by }
///       On(Reset.self) { counter, _ in counter.count = 0 }
///       Perform(Load.self) { action, context in
///         let count = try await load(action.id)
///         try context.updateModel { $0.count = count }
///       }
///     }
///
/// Each action type has its own route. A store without a handler for an action takes no part in its dispatch, and
/// costs nothing there.
///
/// - Of two handlers of one action type for the same part of the model, the last one counts.
/// - Handlers of one action type for different `Part`s must all reduce. They run in order, in one commit.
/// - A handler of a class also gets its subclasses, unless they have a handler of their own.
///
/// You can keep `Handlers`, and use them in many stores or inside other `Handlers`: the handlers exist once.
public struct Handlers<Model: Sendable>: HandlerComponent, Sendable {
  @usableFromInline var all: [Handler<Model>]

  /// Collects handlers.
  public init(@ListBuilder<Handlers> _ content: () -> [Handlers]) {
    self.init(content().flatMap(\.all))
  }

  @usableFromInline
  init(_ all: [Handler<Model>]) {
    self.all = all
  }

  /// Returns `self`.
  public var handlers: Handlers { self }
}

/// A statement between the braces of `Handlers`: `On`, `Perform`, `Part` or `Handlers`.
public protocol HandlerComponent<Model> {
  /// The model of the store.
  associatedtype Model: Sendable
  /// The handlers that this component adds.
  var handlers: Handlers<Model> { get }
}

extension ListBuilder {
  /// Takes a handler, a part, or a group of them.
  public static func buildExpression<Model>(
    _ component: some HandlerComponent<Model>
  ) -> [Element] where Element == Handlers<Model> {
    [component.handlers]
  }
}
