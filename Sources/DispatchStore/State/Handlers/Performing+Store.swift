// Handlers that take the store itself, for features that a child store lacks, such as selectors and streams.
//
// They are disfavoured overloads: a closure that also compiles for a child store gets the child.

extension Applying {
  /// Handles actions of a type with the store itself.
  ///
  /// - Precondition: The handler is not in a `Part`.
  @_disfavoredOverload
  @inlinable
  public init<Action: ActionType>(
    _ type: Action.Type,
    _ apply: @escaping @Sendable (_ action: Action, _ store: HandlerStore<Model>) throws -> Void
  ) {
    self.init(.store { store in { try apply($0, store) } })
  }

  /// Handles actions of a type with the store itself, and replies to the caller with the closure's result.
  ///
  /// - Precondition: The handler is not in a `Part`.
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
  /// - Precondition: The handler is not in a `Part`.
  @_disfavoredOverload
  public init<Action: ActionType>(
    _ type: Action.Type,
    _ perform:
      @escaping @isolated(any) @Sendable (_ action: Action, _ store: HandlerStore<Model>)
      async throws -> Void
  ) {
    self.init(perform.isolation, .store { store in { try await perform($0, store) } })
  }

  /// Handles actions of a type with the store itself, and replies to the caller with the closure's result.
  ///
  /// - Precondition: The handler is not in a `Part`.
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
  /// Handles actions of a type with the store itself and its `RunningOperation`.
  ///
  /// - Precondition: The handler is not in a `Part`.
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
