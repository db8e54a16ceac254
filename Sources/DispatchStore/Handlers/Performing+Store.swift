// Handlers that take the store itself, for what a child of it does not have, such as selectors and streams.
//
// Where a closure compiles for a child too, it gets that.

extension Applying {
  /// Handles actions of a type with the store itself.
  ///
  /// - Precondition: It is in no `Part`.
  @_disfavoredOverload
  @inlinable
  public init<Action: ActionType>(
    _ type: Action.Type,
    _ apply: @escaping @Sendable (_ action: Action, _ store: HandlerStore<Model>) throws -> Void
  ) {
    self.init(.store { store in { try apply($0, store) } })
  }

  /// Handles actions of a type with the store itself, and replies to who dispatched them by what the closure returns.
  ///
  /// - Precondition: It is in no `Part`.
  @_disfavoredOverload
  @inlinable
  public init<Action: ReplyingAction>(
    _ type: Action.Type,
    _ apply:
      @escaping @Sendable (_ action: Action, _ store: HandlerStore<Model>) throws -> Action.Reply
  ) {
    self.init(
      .store { store in
        { (action: Action) in
          ReplyRecord.note(try apply(action, store), of: store.identifier)
        }
      })
  }
}

extension Performing {
  /// Handles actions of a type with the store itself.
  ///
  /// - Precondition: It is in no `Part`.
  @_disfavoredOverload
  public init<Action: ActionType>(
    _ type: Action.Type,
    _ perform:
      @escaping @isolated(any) @Sendable (_ action: Action, _ store: HandlerStore<Model>)
      async throws -> Void
  ) {
    self.init(perform.isolation, .store { store in { try await perform($0, store) } })
  }

  /// Handles actions of a type with the store itself, and replies to who dispatched them by what the closure returns.
  ///
  /// - Precondition: It is in no `Part`.
  @_disfavoredOverload
  public init<Action: ReplyingAction>(
    _ type: Action.Type,
    _ perform:
      @escaping @isolated(any) @Sendable (_ action: Action, _ store: HandlerStore<Model>)
      async throws -> Action.Reply
  ) {
    self.init(
      perform.isolation,
      .store { store in
        { (action: Action) in
          ReplyRecord.note(try await perform(action, store), of: store.identifier)
        }
      })
  }
}

extension Operating {
  /// Handles actions of a type with the store itself, and with the operation of that.
  ///
  /// - Precondition: It is in no `Part`.
  @_disfavoredOverload
  public init<Action: ActionType>(
    _ type: Action.Type,
    _ block:
      @escaping @Sendable (
        _ operation: RunningOperation<Model, HandledAction>, _ action: Action,
        _ store: HandlerStore<Model>
      ) throws -> Void
  ) {
    self.init(
      .store { store in
        { running, action in
          try block(running as! RunningOperation<Model, HandledAction>, action, store)
        }
      })
  }
}
