// Handlers of a part that may be absent.
//
// You can use them in any `Part`, of an optional or not, and outside of parts. If the part is absent when the
// action's turn comes, they are not called, and the action changes nothing. If it disappears later, the child behaves
// like any `OptionalChildStore`: `model` is nil, and `updateModel` throws `partMissing`. That error fails the store
// run, unless the handler catches it.

extension Applying {
  /// Handles actions of a type if the part is present.
  @inlinable
  public init<Action: ActionType>(
    ifPresent type: Action.Type,
    _ apply:
      @escaping @Sendable (_ action: Action, _ store: OptionalChildHandlerStore<Model>) throws ->
      Void
  ) {
    self.init(.optionalChild { child in { if child.isPresent { try apply($0, child) } } })
  }

  /// Handles actions of a type if the part is present, and replies with the closure's result.
  @inlinable
  public init<Action: ReplyingAction>(
    ifPresent type: Action.Type,
    _ apply:
      @escaping @Sendable (_ action: Action, _ store: OptionalChildHandlerStore<Model>) throws ->
      Action.Reply
  ) {
    self.init(
      .optionalChild { child in
        { (action: Action) in
          guard child.isPresent else { return }
          ReplyRecord.note(try apply(action, child), of: child.identifier)
        }
      })
  }
}

extension Performing {
  /// Handles actions of a type if the part is present.
  public init<Action: ActionType>(
    ifPresent type: Action.Type,
    _ perform:
      @escaping @isolated(any) @Sendable (
        _ action: Action, _ store: OptionalChildHandlerStore<Model>
      ) async throws -> Void
  ) {
    self.init(
      perform.isolation,
      .optionalChild { child in { if child.isPresent { try await perform($0, child) } } })
  }

  /// Handles actions of a type if the part is present, and replies with the closure's result.
  public init<Action: ReplyingAction>(
    ifPresent type: Action.Type,
    _ perform:
      @escaping @isolated(any) @Sendable (
        _ action: Action, _ store: OptionalChildHandlerStore<Model>
      ) async throws -> Action.Reply
  ) {
    self.init(
      perform.isolation,
      .optionalChild { child in
        { (action: Action) in
          guard child.isPresent else { return }
          ReplyRecord.note(try await perform(action, child), of: child.identifier)
        }
      })
  }
}

extension Operating {
  /// Handles actions of a type if the part is present.
  public init<Action: ActionType>(
    ifPresent type: Action.Type,
    _ block:
      @escaping @Sendable (
        _ operation: HandlerOperation<Model>, _ action: Action,
        _ store: OptionalChildHandlerStore<Model>
      ) throws -> Void
  ) {
    self.init(
      .optionalChild { child in
        { running, action in
          guard child.isPresent else { return running.finish() }
          try block(HandlerOperation(running, child.part), action, child)
        }
      })
  }
}

extension OptionalChildStore {
  /// Whether the part is present now.
  @usableFromInline
  var isPresent: Bool { part.read { _ in } }
}
