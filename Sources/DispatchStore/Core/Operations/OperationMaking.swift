/// The initializers of `ActionOperation`, one for each kind of block; no other type may conform to it.
///
/// For a program they are initializers like any others: `ActionOperation(action: action, store: store) { … }`.
/// The initializers are in a protocol, because only there may an initializer return an existing object. Making a
/// Foundation `Operation` costs more than most reducers do. They therefore reuse one that the library ran and that
/// has no references left.
public protocol OperationMaking {
  /// The model of the operation's store.
  associatedtype Model: Sendable
  /// The action that the operation handles.
  associatedtype Action: ActionType
}

extension OperationMaking {
  /// Makes an operation that its block ends by `operation.finish()`, at once or from a callback.
  ///
  /// An error that the block throws ends it as failed. If the program releases the last reference to the
  /// block's `operation` before it was finished, it fails with `operationAbandoned`.
  @inlinable
  public init(
    action: Action, store: Store<Model, Action>,
    block:
      @escaping @Sendable (
        _ operation: RunningOperation<Model, Action>, _ action: Action,
        _ store: Store<Model, Action>
      ) throws -> Void
  ) {
    self = Self.make(action, store, .controlled(block))
  }

  /// Makes an operation that ends when its block returns the store's reply, or throws.
  @_disfavoredOverload
  public init(
    action: Action, store: Store<Model, Action>,
    block:
      @escaping @Sendable (_ action: Action, _ store: Store<Model, Action>) throws -> Action.Reply
  ) {
    self = Self.make(
      action, store,
      .returning { ReplyRecord.note(try block($0, $1), of: $1.identifier) })
  }

  /// Makes an operation whose block runs in a task, and that ends when it returns the store's reply, or throws.
  ///
  /// Cancelling the operation cancels the task. A dispatch with `.sync` runs the task's jobs on the
  /// caller's thread, one with `.mainThread` on the main queue. With `.sync` on the main queue, a block that
  /// is isolated to the main actor fails with `wouldDeadlock`; one that awaits the main actor inside never
  /// ends.
  @_disfavoredOverload
  public init(
    action: Action, store: Store<Model, Action>,
    block:
      @escaping @isolated(any) @Sendable (_ action: Action, _ store: Store<Model, Action>)
      async throws -> Action.Reply
  ) {
    self = Self.make(
      action, store,
      .replying(isolation: block.isolation) {
        ReplyRecord.note(try await block($0, $1), of: $1.identifier)
      })
  }

  @inlinable
  static func make(
    _ action: Action, _ store: Store<Model, Action>,
    _ block: consuming OperationBlock<Model, Action>
  ) -> Self {
    // ActionOperation is the only type that conforms.
    unsafeBitCast(ActionOperation.make(action, store, block), to: Self.self)
  }
}

extension OperationMaking where Action.Reply == Void {
  /// Makes an operation that ends when its block returns or throws.
  @inlinable
  public init(
    action: Action, store: Store<Model, Action>,
    block: @escaping @Sendable (_ action: Action, _ store: Store<Model, Action>) throws -> Void
  ) {
    self = Self.make(action, store, .returning(block))
  }

  /// Makes an operation whose block runs in a task, and that ends when it returns or throws.
  @inlinable
  public init(
    action: Action, store: Store<Model, Action>,
    block:
      @escaping @isolated(any) @Sendable (_ action: Action, _ store: Store<Model, Action>)
      async throws -> Void
  ) {
    self = Self.make(action, store, .suspending(block))
  }
}
