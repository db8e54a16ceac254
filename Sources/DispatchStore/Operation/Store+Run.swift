import Foundation

/// What became of one store's part in a dispatch that goes straight through its stores.
enum StraightStep {
  case finished
  /// It ended otherwise.
  case ended(StoreOutcome)
  /// Its operation, an `ActionOperation` of the store's types, waits for others, or for its end.
  case goesOn(AnyObject, isRunning: Bool)
}

extension Store {
  /// Asks the reducer, and runs what it answers on this thread, to its end where it can.
  func run(
    _ action: Action, of dispatch: Dispatch, by entry: TypedStoreEntry<Model, Action>,
    on thread: ThreadState
  ) -> StraightStep {
    var operation = reducer.operation(for: action, in: self)
    let isShared = !isKnownUniquelyReferenced(&operation)
    if !isShared, operation.isUntouchedReduction(of: self) {
      // Nobody can tell it from one that was run.
      defer { operation.recycle(on: thread) }
      return reduce(action, of: dispatch, on: thread)
    }
    if let error = entry.fault(of: operation, returnedFor: action, in: self) {
      return .ended(.failed(error))
    }
    switch operation.runStraight(for: dispatch, isShared: isShared, on: thread) {
    case .ended(let outcome):
      if !isKnownUniquelyReferenced(&operation) || !operation.recycle(on: thread) {
        operation.tellEnd()
      }
      return outcome.isFinished ? .finished : .ended(outcome)
    case .goesOn(let isRunning):
      return .goesOn(operation, isRunning: isRunning)
    case .unusable:
      return .ended(.failed(entry.usedBefore(operation, returnedFor: action, in: self)))
    }
  }

  @inline(__always)
  func reduce(
    _ action: Action, of dispatch: Dispatch, on thread: ThreadState
  ) -> StraightStep {
    do {
      try commit(for: dispatch, action: action, on: thread) { model in
        try reducer.reduce(into: &model, action: action)
      }
      return .finished
    } catch {
      return .ended(StoreOutcome(thrown: error))
    }
  }
}

extension TypedStoreEntry {
  /// Why an operation can't be the answer to an action.
  func fault(
    of operation: ActionOperation<Model, Action>, returnedFor action: Action,
    in store: Store<Model, Action>
  ) -> DispatchError? {
    if operation.store !== store {
      return invalid("was made for store \"\(operation.store.identifier)\"", action, store)
    }
    if !operation.isReduction, isOther(operation.action, than: action) {
      return invalid("was made for another action, \(operation.action)", action, store)
    }
    return nil
  }

  func usedBefore(
    _ operation: ActionOperation<Model, Action>, returnedFor action: Action,
    in store: Store<Model, Action>
  ) -> DispatchError {
    invalid("was started or returned before", action, store)
  }

  /// Whether it is another action, as far as its type lets one tell; some don't equal themselves.
  private func isOther(_ made: Action, than action: Action) -> Bool {
    guard let isSame, !haveSameBytes(made, action) else { return false }
    return !isSame(made, action) && isSame(action, action)
  }

  private func invalid(
    _ fault: String, _ action: Action, _ store: Store<Model, Action>
  ) -> DispatchError {
    DispatchError(
      code: .invalidOperation,
      message: """
        The operation that \(type(of: store.reducer)) returned for \(action) in store \
        "\(store.identifier)" \(fault). Return a new ActionOperation(action: action, store: store) \
        for each call of operation(for:in:).
        """,
      storeIdentifiers: [store.identifier])
  }
}

/// Whether two values are the same to the last byte, references and all.
private func haveSameBytes<Value>(_ first: Value, _ second: Value) -> Bool {
  withUnsafePointer(to: first) { first in
    withUnsafePointer(to: second) { second in
      memcmp(first, second, MemoryLayout<Value>.size) == 0
    }
  }
}
