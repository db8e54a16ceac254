/// What an operation is about, from when it is given out until nobody has it any longer.
@usableFromInline
struct OperationSubject<Model: Sendable, Action: ActionType> {
  @usableFromInline let action: Action
  @usableFromInline let store: Store<Model, Action>
  /// Taken by whoever starts it, so that what it captures goes with the call.
  @usableFromInline var block: OperationBlock<Model, Action>?

  @usableFromInline
  init(_ action: Action, _ store: Store<Model, Action>, _ block: OperationBlock<Model, Action>) {
    self.action = action
    self.store = store
    self.block = block
  }
}

/// What an operation calls, by who ends it.
@usableFromInline
enum OperationBlock<Model: Sendable, Action: ActionType> {
  /// Ends it by `operation.finish()`.
  case controlled(
    @Sendable (RunningOperation<Model, Action>, Action, Store<Model, Action>) throws -> Void)
  /// Ends it by returning.
  case returning(@Sendable (Action, Store<Model, Action>) throws -> Void)
  /// Runs in a task, and ends it by returning.
  case suspending(@Sendable (Action, Store<Model, Action>) async throws -> Void)
  /// Calls a reducer's `reduce(into:action:)`.
  case reducing(Reducer<Model, Action>)

  /// Whether it can't end before it returns.
  @usableFromInline
  var isSuspending: Bool {
    if case .suspending = self { true } else { false }
  }
}
