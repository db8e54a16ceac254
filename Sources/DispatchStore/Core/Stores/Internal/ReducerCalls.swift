/// Type-erased calls of a store's reducer, specialised for its types when the store is made.
@usableFromInline
final class ReducerCalls: Sendable {
  @usableFromInline typealias Reduce = @Sendable (UnsafeRawPointer, ThreadState) -> InlineStep?
  @usableFromInline typealias ReduceObserved =
    @Sendable (UnsafeRawPointer, AnyObject, ThreadState) -> InlineStep
  @usableFromInline typealias Apply = @Sendable (UnsafeRawPointer, AnyObject) -> InlineStep
  @usableFromInline typealias Answer =
    @Sendable (UnsafeRawPointer, AnyObject, Dispatch, ThreadState) -> InlineStep

  let storage: StoreStorage
  /// Calls `reduce(into:action:)` in one commit; nil if nothing was done: the store is observed, so `reduceObserved`
  /// must be called instead.
  ///
  /// Takes the address of an action of the store's type.
  let reduce: Reduce
  /// Calls `reduce(into:action:)` in one commit of an observed store.
  ///
  /// Takes the store as well.
  let reduceObserved: ReduceObserved
  /// Calls `apply(_:to:)`.
  ///
  /// Takes the store as well.
  let apply: Apply
  /// Calls `operation(for:in:)` and runs the operation.
  ///
  /// Takes the store as well.
  let answer: Answer

  /// Only those are called that the `ReducerAnswer` of the store's entry needs; the others may be left out.
  @usableFromInline
  init(
    on storage: StoreStorage,
    reduce: @escaping Reduce = { _, _ in ReducerCalls.isNotNeeded() },
    reduceObserved: @escaping ReduceObserved = { _, _, _ in ReducerCalls.isNotNeeded() },
    apply: @escaping Apply = { _, _ in ReducerCalls.isNotNeeded() },
    answer: @escaping Answer = { _, _, _, _ in ReducerCalls.isNotNeeded() }
  ) {
    self.storage = storage
    self.reduce = reduce
    self.reduceObserved = reduceObserved
    self.apply = apply
    self.answer = answer
  }

  @usableFromInline
  static func isNotNeeded() -> Never { fatalError("The store answers in another way.") }

  /// Makes the calls of a reducer.
  ///
  /// Inlinable, so that they are specialised for the model's and the action's types.
  @inlinable
  convenience init<Model: Sendable, Action: ActionType>(
    of reducer: Reducer<Model, Action>, on storage: ModelStorage<Model, Action>
  ) {
    nonisolated(unsafe) let reducer = reducer  // which holds no mutable state
    /// Casts without a check, because a checked cast would take 6 % of an application.
    @Sendable func typed(_ store: AnyObject) -> Store<Model, Action> {
      unsafeDowncast(store, to: Store<Model, Action>.self)
    }
    self.init(
      on: storage,
      reduce: { action, thread in
        guard storage.lockIfUnobserved(on: thread) else { return nil }
        defer { storage.unlockCommitted(by: ObjectIdentifier(reducer), on: thread) }
        do {
          try reducer.reduce(
            into: &storage.model.pointee,
            action: action.assumingMemoryBound(to: Action.self).pointee)
          return .finished
        } catch {
          return .ended(StoreOutcome(thrown: error))
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
          return .finished
        } catch {
          return .ended(StoreOutcome(thrown: error))
        }
      },
      answer: { action, store, dispatch, thread in
        typed(store).answer(
          action.assumingMemoryBound(to: Action.self).pointee, of: dispatch, on: thread)
      })
  }
}
