/// The block of an operation, by the way in which the operation ends.
@usableFromInline
enum OperationBlock<Model: Sendable, Action: ActionType> {
  @usableFromInline
  typealias Suspending = @Sendable (Action, Store<Model, Action>) async throws -> Void

  /// Ends by `operation.finish()`.
  case controlled(
    @Sendable (RunningOperation<Model, Action>, Action, Store<Model, Action>) throws -> Void)
  /// Ends when the block returns or throws.
  case returning(@Sendable (Action, Store<Model, Action>) throws -> Void)
  /// Runs in a task, and ends when the block returns or throws; with the isolation of the user's block.
  case suspending(isolation: (any Actor)?, Suspending)

  /// Whether the block runs in a task.
  var isSuspending: Bool { if case .suspending = self { true } else { false } }
}
