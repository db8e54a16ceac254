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
  /// Runs in a task and notes the block's reply, with the isolation of the user's block.
  case replying(
    isolation: (any Actor)?, @Sendable (Action, Store<Model, Action>) async throws -> Void)
  /// Calls a reducer's `reduce(into:action:)`.
  case reducing(Reducer<Model, Action>)

  /// Whether the block runs in a task.
  @inlinable
  var isSuspending: Bool {
    switch self {
    case .suspending, .replying: true
    case .controlled, .returning, .reducing: false
    }
  }
}
