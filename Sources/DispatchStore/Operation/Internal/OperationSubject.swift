/// The action, store and block of an operation, until the operation is released or becomes a spare one.
@usableFromInline
struct OperationSubject<Model: Sendable, Action: ActionType> {
  @usableFromInline let action: Action
  @usableFromInline let store: Store<Model, Action>
  /// Taken by the thread that starts the operation, so that its captures are released after the call.
  @usableFromInline var block: OperationBlock<Model, Action>?

  @usableFromInline
  init(_ action: Action, _ store: Store<Model, Action>, _ block: OperationBlock<Model, Action>) {
    self.action = action
    self.store = store
    self.block = block
  }
}

/// The block of an operation, by the way in which the operation ends.
@usableFromInline
enum OperationBlock<Model: Sendable, Action: ActionType> {
  /// Ends by `operation.finish()`.
  case controlled(
    @Sendable (RunningOperation<Model, Action>, Action, Store<Model, Action>) throws -> Void)
  /// Ends when the block returns or throws.
  case returning(@Sendable (Action, Store<Model, Action>) throws -> Void)
  /// Runs in a task; ends when the block returns or throws.
  case suspending(
    @isolated(any) @Sendable (Action, Store<Model, Action>) async throws -> Void)
  /// The same, and the block notes a reply; with the isolation of the program's own one.
  case replying(
    isolation: (any Actor)?, @Sendable (Action, Store<Model, Action>) async throws -> Void)
  /// Calls a reducer's `reduce(into:action:)`.
  case reducing(Reducer<Model, Action>)

  /// Whether the block runs in a task.
  @usableFromInline
  var isSuspending: Bool {
    switch self {
    case .suspending, .replying: true
    case .controlled, .returning, .reducing: false
    }
  }
}
