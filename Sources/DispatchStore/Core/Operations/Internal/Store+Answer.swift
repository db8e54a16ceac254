extension Store {
  /// Calls `operation(for:in:)`, and runs the operation on this thread, to its end if possible.
  ///
  /// Inlined into the module that makes the store, so that it is specialized for the store's types.
  @inlinable
  @inline(__always)
  func answer(
    _ action: Action, of dispatch: Dispatch, on thread: ThreadState
  ) -> InlineStep {
    var operation = reducer.operation(for: action, in: self)
    // The operation starts on this thread if it is unchanged and no other code has a strong reference to it. It starts
    // without its lock if no code can get one.
    guard isUniquelyReferencedForReuse(&operation) else {
      return claimForRound(operation, for: action)
    }
    // Asked only now: until then, another thread could make a weak reference from its strong one.
    let isAlone = hasNoWeakOrUnownedReferences(operation)
    guard operation.presentStore === self,
      haveSameBytes(operation.actionAddress.pointee, action),
      operation.core.beginInline(for: dispatch, isAlone: isAlone),
      let block = operation.block.take()
    else { return claimForRound(operation, for: action) }
    var hasReturned = true
    do {
      switch consume block {
      case .controlled(let block):
        operation.control(block)
        hasReturned = false
      case .returning(let block):
        try block(action, self)
      case .reducing(let reducer):
        try commit(for: dispatch, action: action, by: reducer, on: thread) { model in
          try reducer.reduce(into: &model, action: action)
        }
      case .suspending, .replying:
        hasReturned = false
      }
    } catch {
      return operation.endInline(StoreOutcome(thrown: error))
    }
    guard isAlone, isUniquelyReferencedForReuse(&operation),
      hasNoWeakOrUnownedReferences(operation), operation.isPristine,
      operation.core.endInline(isFinished: hasReturned ? true : nil)
    else { return operation.endInline(hasReturned ? .finished : nil) }
    operation.endUse()
    thread.keepSpareOperation(operation, of: operationType)
    return .finished
  }

  /// Claims an operation that a round is to run: other code may have a reference to it, or its block suspends.
  @usableFromInline
  func claimForRound(
    _ operation: ActionOperation<Model, Action>, for action: Action
  ) -> InlineStep {
    if let error = claim(operation, returnedFor: action) { return .ended(.failed(error)) }
    return .unfinished(operation)
  }

  /// Calls `reduce(into:action:)`, as one commit of which observers are notified.
  @inlinable
  func reduceObserved(_ action: Action, on thread: ThreadState) -> InlineStep {
    do {
      try commitObserved(for: nil, action: action, by: reducer, on: thread) { model in
        try reducer.reduce(into: &model, action: action)
      }
      return .finished
    } catch {
      return .ended(StoreOutcome(thrown: error))
    }
  }
}
