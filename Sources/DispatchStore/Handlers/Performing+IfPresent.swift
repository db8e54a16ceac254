// Handlers of a part that may be gone.
//
// They can be in a `Part` of an optional, in any other, and in none. They are not called where the part is absent when
// their turn comes, as `On` is not: then the action changes nothing. Where it goes meanwhile, the child that they get
// says so, as `OptionalChildStore` does: `model` is nil, and `updateModel` throws `partMissing`, which fails the store
// run unless the handler catches it.

extension Applying {
  /// Handles actions of a type while the part is there.
  @inlinable
  public init<Action: ActionType>(
    ifPresent type: Action.Type,
    _ apply:
      @escaping @Sendable (_ action: Action, _ store: OptionalChildHandlerStore<Model>) throws ->
      Void
  ) {
    self.init(.optionalChild { child in { if child.isPresent { try apply($0, child) } } })
  }

  /// Handles actions of a type while the part is there, and replies by what the closure returns.
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
  /// Handles actions of a type while the part is there.
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

  /// Handles actions of a type while the part is there, and replies by what the closure returns.
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
  /// Handles actions of a type while the part is there.
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
  /// Whether the part is there now.
  @usableFromInline
  var isPresent: Bool { part.read { _ in } }
}
