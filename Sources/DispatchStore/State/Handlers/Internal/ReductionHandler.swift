/// A handler that changes the model in the store's exclusive section.
@usableFromInline
final class ReductionHandler<Model: Sendable, Action: ActionType>: TypedHandler<Model, Action>,
  @unchecked Sendable
{
  // because its superclass is
  @usableFromInline typealias Body = @Sendable (inout Model, Action) throws -> Void
  @usableFromInline typealias MakeReduce =
    @Sendable (ModelStorage<Model, HandledAction>) -> ReducerCalls.Reduce

  private let body: Body
  private let makeReduce: MakeReduce
  private let reduceObserved: ReducerCalls.ReduceObserved

  @usableFromInline
  init(
    _ body: @escaping Body, _ path: [AnyKeyPath], makeReduce: @escaping MakeReduce,
    reduceObserved: @escaping ReducerCalls.ReduceObserved
  ) {
    self.body = body
    self.makeReduce = makeReduce
    self.reduceObserved = reduceObserved
    super.init(.reduction, path: path)
  }

  /// Creates a handler.
  ///
  /// Inlinable, so that it is specialised for the model's and the action's types.
  @inlinable
  convenience init(_ body: @escaping Body, path: [AnyKeyPath] = []) {
    self.init(
      body, path,
      makeReduce: { storage in
        { action, thread in
          guard storage.lockIfUnobserved(on: thread) else { return nil }
          defer { storage.unlockCommitted(by: ObjectIdentifier(storage), on: thread) }
          do {
            try body(
              &storage.model.pointee, action.assumingMemoryBound(to: Action.self).pointee)
            return .finished
          } catch {
            return .ended(StoreOutcome(thrown: error))
          }
        }
      },
      reduceObserved: { action, store, thread in
        let action = action.assumingMemoryBound(to: Action.self).pointee
        let store = Self.typed(store)
        do {
          let handled = HandledAction(action, handler: nil)
          try store.commitObserved(for: nil, action: handled, by: store.reducer, on: thread) {
            defer { Reduction.passUnchanged(to: store.reducer) }
            try body(&$0, action)
          }
          return .finished
        } catch {
          return .ended(StoreOutcome(thrown: error))
        }
      })
  }

  override func makeCalls(of store: HandlerStore<Model>) -> ReducerCalls {
    ReducerCalls(
      on: store.storage, reduce: makeReduce(store.storage), reduceObserved: reduceObserved)
  }

  override func reduce(into model: inout Model, _ action: any ActionType) throws {
    // The cast succeeds: the registry has matched the type.
    try body(&model, action as! Action)
  }

  override func lifted<Whole: Sendable>(
    to part: PartPath<Model>, at path: AnyKeyPath, mayBeAbsent: Bool
  ) -> Handler<Whole> {
    ReductionHandler<Whole, Action>(
      { [body] whole, action in
        try withUnsafeMutablePointer(to: &whole) { whole in
          // An absent part is not accessed to be changed, which would call its observers, or its setter.
          if mayBeAbsent, !part.read(whole, { _ in }) { return Reduction.unchanged() }
          var result = Result<Void, any Error>.success(())
          _ = part.modify(whole) { part in result = Result { try body(&part.pointee, action) } }
          try result.get()
        }
      }, path: pathInWhole(path, mayBeAbsent))
  }

  override func join(_ handlers: [Handler<Model>]) -> Handler<Model> {
    let bodies = handlers.map { handler -> Body in
      guard let typed = handler as? ReductionHandler else { handler.stopJoining() }
      return typed.body
    }
    return ReductionHandler { model, action in
      var reduction = PartialReduction()
      defer { if reduction.isUnchanged { Reduction.unchanged() } }
      for body in bodies { try reduction.reduce { try body(&model, action) } }
    }
  }
}
