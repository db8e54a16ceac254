import DispatchStore

/// A reducer whose methods call closures.
final class ClosureReducer<Model: Sendable, Action: ActionType>: Reducer<Model, Action> {
  typealias Operation = ActionOperation<Model, Action>
  typealias Answer = @Sendable (Action, Store<Model, Action>) -> Operation
  typealias Waits = @Sendable (Action, WaitFor) -> WaitFor
  typealias Notifies = @Sendable (Action) -> Bool

  private let answer: Answer
  private let waits: Waits
  private let notifies: Notifies

  init(
    waits: @escaping Waits = { $1 }, notifies: @escaping Notifies = { _ in true },
    answer: @escaping Answer
  ) {
    self.answer = answer
    self.waits = waits
    self.notifies = notifies
  }

  override func operation(for action: Action, in store: Store<Model, Action>) -> Operation {
    answer(action, store)
  }

  override func waitFor(
    for action: Action, in store: Store<Model, Action>, declared: WaitFor
  ) -> WaitFor {
    waits(action, declared)
  }

  override func shouldNotifyObservers(for action: Action, in store: Store<Model, Action>) -> Bool {
    notifies(action)
  }
}
