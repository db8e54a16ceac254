import Foundation

/// What became of one store's part in a dispatch that goes straight through its stores.
@usableFromInline
enum StraightStep {
  case finished
  /// It ended otherwise.
  indirect case ended(StoreOutcome)
  /// Its operation, an `ActionOperation` of the store's types, waits for others, or for its end.
  indirect case goesOn(AnyObject, isRunning: Bool)

  init(_ outcome: StoreOutcome) {
    self = outcome.isFinished ? .finished : .ended(outcome)
  }

  /// That of an answer that was given.
  @inline(__always)
  init(_ answer: ReducerCalls.Answer) {
    if case .failed(let error) = answer {
      self = .ended(.of(thrown: error))
    } else {
      self = .finished
    }
  }
}

extension Store {
  /// Asks the reducer, and runs what it answers on this thread, to its end where it can.
  ///
  /// Inlined where the store is made, so that it is compiled for its own types.
  @inlinable
  @inline(__always)
  func answer(
    _ action: Action, of dispatch: Dispatch, on thread: ThreadState
  ) -> StraightStep {
    var operation = reducer.operation(for: action, in: self)
    // One that nobody else has, and that is as it was made, needs no lock before its block.
    guard isKnownUniquelyReferenced(&operation), operation.subject.pointee.store === self,
      haveSameBytes(operation.subject.pointee.action, action),
      let block = operation.subject.pointee.block, !block.isSuspending,
      operation.core.beginStraight(for: dispatch)
    else { return run(operation, for: action, of: dispatch, on: thread) }
    operation.subject.pointee.block = nil
    var asked: StoreOutcome?
    switch block {
    case .controlled(let block):
      operation.control(block, on: thread)
    case .returning(let block):
      do {
        try block(action, self)
        asked = .finished
      } catch {
        asked = StoreOutcome(thrown: error)
      }
    case .reducing(let reducer):
      do {
        try commit(for: dispatch, action: action, on: thread) { model in
          try reducer.reduce(into: &model, action: action)
        }
        asked = .finished
      } catch {
        asked = StoreOutcome(thrown: error)
      }
    case .suspending:
      break
    }
    guard isKnownUniquelyReferenced(&operation), ThreadState.isUnseen(operation),
      operation.core.endStraight(isFinished: asked?.isFinished == true)
    else { return operation.endStraight(asked) }
    operation.subject.deinitialize(count: 1)
    thread.keepSpareOperation(operation, of: operationType)
    return .finished
  }

  /// The same for an operation that somebody else has, or has had.
  @usableFromInline
  func run(
    _ operation: ActionOperation<Model, Action>, for action: Action, of dispatch: Dispatch,
    on thread: ThreadState
  ) -> StraightStep {
    if let error = fault(of: operation, returnedFor: action) { return .ended(.failed(error)) }
    return operation.runStraight(for: dispatch, on: thread)
      ?? .ended(.failed(usedBefore(operation, returnedFor: action)))
  }

  /// One commit, told to the observers.
  @inlinable
  func reduceObserved(
    _ action: Action, of dispatch: Dispatch, on thread: ThreadState
  ) -> StraightStep {
    do {
      try commitObserved(for: dispatch, action: action, on: thread) { model in
        try reducer.reduce(into: &model, action: action)
      }
      return .finished
    } catch {
      return .ended(StoreOutcome(thrown: error))
    }
  }
}

extension Store {
  /// Why an operation can't be the answer to an action.
  func fault(
    of operation: ActionOperation<Model, Action>, returnedFor action: Action
  ) -> DispatchError? {
    if operation.store !== self {
      return invalid("was made for store \"\(operation.store.identifier)\"", action)
    }
    if !operation.withState({ $0.isReduction }), isOther(operation.action, than: action) {
      return invalid("was made for another action, \(operation.action)", action)
    }
    return nil
  }

  func usedBefore(
    _ operation: ActionOperation<Model, Action>, returnedFor action: Action
  ) -> DispatchError {
    invalid("was started or returned before", action)
  }

  /// Whether it is another action, as far as its type lets one tell; some don't equal themselves.
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

/// Whether two values are the same to the last byte, references and all.
@inlinable
@inline(__always)
func haveSameBytes<Value>(_ first: Value, _ second: Value) -> Bool {
  withUnsafeBytes(of: first) { first in
    withUnsafeBytes(of: second) { second in
      guard first.count > 8 else {
        // The count is known where this is inlined.
        return first.indices.allSatisfy { first[$0] == second[$0] }
      }
      return areSame(first.baseAddress!, second.baseAddress!, first.count)
    }
  }
}

@usableFromInline
func areSame(_ first: UnsafeRawPointer, _ second: UnsafeRawPointer, _ count: Int) -> Bool {
  memcmp(first, second, count) == 0
}
