/// Changes the model for actions of one type: one reduction, one commit.
///
///     On(Withdraw.self) { bank, withdraw in
///       guard bank.balance >= withdraw.amount else { throw Overdrawn() }
///       bank.balance -= withdraw.amount
///       return bank.balance  // the action's `Reply`
///     }
///
/// The closure runs in the store's exclusive section, like `Reducer.reduce(into:action:)`. If it throws, the changes
/// that it made before are committed, and the store run fails with the error.
public struct On<Model: Sendable>: HandlerComponent {
  /// The handler for this action type.
  public let handlers: Handlers<Model>

  /// Handles actions of a type; the closure's result is the store's reply.
  @inlinable
  public init<Action: ActionType>(
    _ type: Action.Type,
    _ reduce: @escaping @Sendable (_ model: inout Model, _ action: Action) throws -> Action.Reply
  ) {
    handlers = Handlers([
      ReductionHandler { (model: inout Model, action: Action) in
        ReplyRecord.note(try reduce(&model, action))
      }
    ])
  }

  /// Handles actions of a type, and leaves the reply to other stores.
  @inlinable
  public init<Action: ActionType>(
    withoutReply type: Action.Type,
    _ reduce: @escaping @Sendable (_ model: inout Model, _ action: Action) throws -> Void
  ) {
    handlers = Handlers([ReductionHandler(reduce)])
  }
}

/// Handlers of a part of the model, given by a key path: a module of a store.
///
///     Part(\.cart) {
///       On(AddItem.self) { cart, action in cart.items.append(action.item) }
///       Perform(LoadCart.self) { action, context in
///         let items = try await load(action.id)
///         try context.updateModel { $0.items = items }
///       }
///     }
public struct Part<Model: Sendable>: HandlerComponent {
  /// The handlers of the part, for the whole model.
  public let handlers: Handlers<Model>

  /// Handles actions in a part of the model.
  public init<Value: Sendable>(
    _ path: any WritableKeyPath<Model, Value> & Sendable,
    @ListBuilder<Handlers<Value>> _ content: () -> [Handlers<Value>]
  ) {
    handlers = Handlers(
      content().flatMap(\.all).map {
        $0.lifted(to: .property(path), at: path, mayBeAbsent: false)
      })
  }

  /// Handles actions in a part of the model that may be absent.
  ///
  /// If it is absent when an action's turn comes, its handlers are not called, and the action changes nothing there.
  public init<Value: Sendable>(
    _ path: any WritableKeyPath<Model, Value?> & Sendable,
    @ListBuilder<Handlers<Value>> _ content: () -> [Handlers<Value>]
  ) {
    handlers = Handlers(
      content().flatMap(\.all).map {
        $0.lifted(to: .unwrapping(path), at: path, mayBeAbsent: true)
      })
  }
}

/// Statements that a reduction can make about itself.
public enum Reduction {
  /// Declares, inside a handler that reduces, that it changes nothing, so that there is no commit.
  ///
  ///     On(Remove.self) { cart, action in
  ///       guard cart.items[action.id] != nil else { return Reduction.unchanged() }
  ///       …
  ///     }
  ///
  /// The store's version stays, and no observer is notified. Call it only if the model is unchanged. If handlers of
  /// several parts get the action, the commit is left out only if all of them call it. Outside a handler that reduces
  /// it has no effect: a `Reducer` has a method of its own for this.
  public static func unchanged() {
    let thread = ThreadState.current
    if let section = thread.exclusive { thread.noteUnchanged(by: ObjectIdentifier(section)) }
  }

  /// Forwards the handlers' `unchanged()` to the store's reducer, after the handlers have run.
  @usableFromInline
  static func passUnchanged(to reducer: AnyObject) {
    if isUnchanged { ThreadState.current.noteUnchanged(by: ObjectIdentifier(reducer)) }
  }

  /// Whether the handlers that ran in the current exclusive section have called `unchanged()`.
  private static var isUnchanged: Bool {
    let thread = ThreadState.current
    return thread.exclusive.map { thread.isUnchanged(by: ObjectIdentifier($0)) } ?? false
  }

  /// Returns `isUnchanged`, and resets it.
  static func takeUnchanged() -> Bool {
    let isUnchanged = isUnchanged
    _ = ThreadState.current.exchangeUnchanged(by: nil)
    return isUnchanged
  }
}
