/// The calls of a store's reducer, with the types taken away: compiled for them where the store is made.
@usableFromInline
final class ReducerCalls: Sendable {
  @usableFromInline
  enum Answer {
    case done
    /// Nothing was done: the store is observed, and `reduceObserved` is to be called instead.
    case observed
    /// The model was changed as far as the reducer came.
    case failed(any Error)
  }

  let storage: StoreStorage
  /// `reduce(into:action:)` as one commit; takes the address of an action of the store's type.
  let reduce: @Sendable (UnsafeRawPointer, ThreadState) -> Answer
  /// The same for a store that is observed; takes the store too.
  let reduceObserved: @Sendable (UnsafeRawPointer, AnyObject, ThreadState) -> InlineStep
  /// `apply(_:to:)`; takes the store too.
  let apply: @Sendable (UnsafeRawPointer, AnyObject) -> Answer
  /// `operation(for:in:)` and what it answers; takes the store too.
  let answer: @Sendable (UnsafeRawPointer, AnyObject, Dispatch, ThreadState) -> InlineStep
  /// Takes an operation, and calls its block; as `ActionOperation.callBlock`.
  let callBlock: @Sendable (AnyObject, ThreadState) -> (StoreOutcome?, hasReturned: Bool)

  @usableFromInline
  init(
    on storage: StoreStorage,
    reduce: @escaping @Sendable (UnsafeRawPointer, ThreadState) -> Answer,
    reduceObserved: @escaping @Sendable (UnsafeRawPointer, AnyObject, ThreadState) -> InlineStep,
    apply: @escaping @Sendable (UnsafeRawPointer, AnyObject) -> Answer,
    answer: @escaping @Sendable (UnsafeRawPointer, AnyObject, Dispatch, ThreadState) -> InlineStep,
    callBlock: @escaping @Sendable (AnyObject, ThreadState) -> (StoreOutcome?, hasReturned: Bool)
  ) {
    self.storage = storage
    self.reduce = reduce
    self.reduceObserved = reduceObserved
    self.apply = apply
    self.answer = answer
    self.callBlock = callBlock
  }

  /// Inlinable, so that it is compiled for the model's and the action's own types.
  @inlinable
  convenience init<Model: Sendable, Action: ActionType>(
    of reducer: Reducer<Model, Action>, on storage: ModelStorage<Model, Action>
  ) {
    nonisolated(unsafe) let reducer = reducer  // which holds no mutable state
    /// Unsafe, because a checked cast would take 6 % of an application.
    @Sendable func typed(_ store: AnyObject) -> Store<Model, Action> {
      unsafeDowncast(store, to: Store<Model, Action>.self)
    }
    self.init(
      on: storage,
      reduce: { action, thread in
        guard storage.lockIfUnobserved(on: thread) else { return .observed }
        defer { storage.unlockReduced(by: ObjectIdentifier(reducer), on: thread) }
        do {
          try reducer.reduce(
            into: &storage.model.pointee,
            action: action.assumingMemoryBound(to: Action.self).pointee)
          return .done
        } catch {
          return .failed(error)
        }
      },
      reduceObserved: { action, store, thread in
        typed(store).reduceObserved(
          action.assumingMemoryBound(to: Action.self).pointee, on: thread)
      },
      apply: { action, store in
        do {
          try reducer.apply(
            action.assumingMemoryBound(to: Action.self).pointee,
            to: typed(store))
          return .done
        } catch {
          return .failed(error)
        }
      },
      answer: { action, store, dispatch, thread in
        typed(store).answer(
          action.assumingMemoryBound(to: Action.self).pointee, of: dispatch, on: thread)
      },
      callBlock: { operation, thread in
        unsafeDowncast(operation, to: ActionOperation<Model, Action>.self).callBlock(on: thread)
      })
  }
}
