/// Changes the model for actions of one type: a reduction, one commit.
///
/// As `Reducer.reduce(into:action:)`: called in the store's exclusive section. What it changed before it threw is
/// committed, and the store run fails with the error.
public struct On<Model: Sendable>: HandlerComponent {
  /// What it stands for.
  public let handlers: Handlers<Model>

  /// Handles actions of a type.
  @inlinable
  public init<Action: ActionType>(
    _ type: Action.Type,
    _ reduce: @escaping @Sendable (_ model: inout Model, _ action: Action) throws -> Void
  ) {
    handlers = Handlers([ReductionHandler(reduce)])
  }

  /// Handles actions of a type, and replies to who dispatched them by what the closure returns.
  @inlinable
  public init<Action: ReplyingAction>(
    _ type: Action.Type,
    _ reduce: @escaping @Sendable (_ model: inout Model, _ action: Action) throws -> Action.Reply
  ) {
    handlers = Handlers([
      ReductionHandler { (model: inout Model, action: Action) in
        ReplyRecord.note(try reduce(&model, action))
      }
    ])
  }
}

/// Handlers of a part of the model, by the key path of that part: a module of a store.
///
///     Part(\.cart) {
///       On(AddItem.self) { cart, action in cart.items.append(action.item) }
///       Performing(LoadCart.self) { action, cart in
///         let items = try await load(action.id)
///         cart.updateModel { $0.items = items }
///       }
///     }
///
/// Handlers that do more than reduce get a child of the store, for the part.
public struct Part<Model: Sendable>: HandlerComponent {
  /// What it stands for.
  public let handlers: Handlers<Model>

  /// Handles actions in a part of the model.
  ///
  /// - Precondition: None of its handlers takes the store itself.
  public init<Value: Sendable>(
    _ path: any WritableKeyPath<Model, Value> & Sendable,
    @HandlerBuilder<Value> _ content: () -> Handlers<Value>
  ) {
    handlers = Handlers(content().all.map { $0.lifted(to: path) })
  }

  /// Handles actions in a part of the model that may be absent: then the actions change nothing.
  ///
  /// - Precondition: Its handlers that do more than reduce are made with `ifPresent:`.
  public init<Value: Sendable>(
    _ path: any WritableKeyPath<Model, Value?> & Sendable,
    @HandlerBuilder<Value> _ content: () -> Handlers<Value>
  ) {
    handlers = Handlers(content().all.map { $0.lifted(toOptional: path) })
  }
}

/// What a reduction can say about itself.
public enum Reduction {
  /// Says, inside a handler that reduces, that it changes nothing: there is no commit.
  ///
  ///     On(Remove.self) { cart, action in
  ///       guard cart.items[action.id] != nil else { return Reduction.noChange() }
  ///       …
  ///     }
  ///
  /// Then the store's version stays, and no observer is notified. It has to be true. Where several handlers get the
  /// action, of several parts, there is no commit if all of them say so. Elsewhere, also in a `Reducer`, which has a method
  /// for it, this has no effect.
  public static func noChange() {
    let thread = ThreadState.current
    if let section = thread.exclusive { thread.noteUnchanged(by: ObjectIdentifier(section)) }
  }

  /// Says the same for the store's reducer, after its handlers.
  @usableFromInline
  static func passUnchanged(to reducer: AnyObject) {
    if isUnchanged { ThreadState.current.noteUnchanged(by: ObjectIdentifier(reducer)) }
  }

  /// Whether the handlers that were called in the present section have said so.
  private static var isUnchanged: Bool {
    let thread = ThreadState.current
    return thread.exclusive.map { thread.isUnchanged(by: ObjectIdentifier($0)) } ?? false
  }

  /// The same, and forgets it.
  static func takeUnchanged() -> Bool {
    let isUnchanged = isUnchanged
    _ = ThreadState.current.exchangeUnchanged(by: nil)
    return isUnchanged
  }
}
