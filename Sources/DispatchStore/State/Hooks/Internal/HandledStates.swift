/// An action that a store has handled, with the model before its first commit and after its last one.
///
/// Without a commit, both are the current model. Commits of other actions in between are included; then
/// `newVersion - oldVersion` is more than `commitCount`.
package struct HandledStates<Model: Sendable, Action: ActionType>: Sendable {
  package let storeIdentifier: String
  /// The action that ran, after replacement by middlewares.
  package let action: Action
  package let oldModel: Model
  package let oldVersion: UInt64
  package let newModel: Model
  package let newVersion: UInt64
  /// The number of commits that the action has made.
  package let commitCount: Int
  package let run: StoreRunInfo
}

/// Receives the states around each action of the stores that a hook follows.
package protocol StatesReceiver: AnyObject, Sendable {
  /// Called like that store's `didDispatch`.
  func receive<Model: Sendable, Action: ActionType>(_ states: HandledStates<Model, Action>)
}

/// Calls a closure with the states of stores of one type.
package final class StatesClosure<Model: Sendable, Action: ActionType>: StatesReceiver {
  private let body: @Sendable (HandledStates<Model, Action>) -> Void

  package init(_ body: @escaping @Sendable (HandledStates<Model, Action>) -> Void) {
    self.body = body
  }

  package func receive<OtherModel: Sendable, OtherAction: ActionType>(
    _ states: HandledStates<OtherModel, OtherAction>
  ) {
    if let states = states as? HandledStates<Model, Action> { body(states) }
  }
}
