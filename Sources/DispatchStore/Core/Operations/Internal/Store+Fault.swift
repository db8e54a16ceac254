extension Store {
  /// Claims an operation for a dispatch.
  ///
  /// Returns the error if it was made for another action or store, or was used before.
  func claim(
    _ operation: ActionOperation<Model, Action>, returnedFor action: Action
  ) -> DispatchError? {
    if operation.store !== self {
      return invalid("was made for store \"\(operation.store.identifier)\"", action)
    }
    if !operation.withState({ $0.isOfLibrary }), isOther(operation.action, than: action) {
      return invalid("was made for another action, \(operation.action)", action)
    }
    if operation.claim() { return nil }
    return invalid(
      operation.isInQueue ? "is in an OperationQueue" : "was started or returned before", action)
  }

  func wouldHoldUpMainActor(_ action: Action) -> DispatchError {
    DispatchError(
      code: .wouldDeadlock,
      message: """
        The block of the operation for \(action) in store "\(identifier)" is isolated to the main actor, and \
        its .sync dispatch holds up the main queue until it ends. Dispatch with .mainThread, or call main \
        actor code before the dispatch.
        """,
      storeIdentifiers: [identifier])
  }

  /// Whether the actions differ, as far as the type can be compared.
  ///
  /// Some actions do not equal themselves.
  private func isOther(_ made: Action, than action: Action) -> Bool {
    if haveSameBytes(made, action) { return false }
    if let made = made as? any Equatable { return !made.equals(action) && made.equals(made) }
    return Action.self is AnyClass
  }

  private func invalid(_ fault: String, _ action: Action) -> DispatchError {
    DispatchError(
      code: .invalidOperation,
      message: """
        The operation that \(type(of: reducer)) returned for \(action) in store \
        "\(identifier)" \(fault). Return a new ActionOperation(action: action, store: store) \
        for each call of operation(for:in:).
        """,
      storeIdentifiers: [identifier])
  }
}

extension Equatable {
  fileprivate func equals(_ other: Any) -> Bool {
    self == other as? Self
  }
}
