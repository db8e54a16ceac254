/// What a store does for actions of one type; a subclass has the type.
@usableFromInline
class Handler<Model: Sendable>: @unchecked Sendable {
  // because all of its properties are constants
  final let actionType: any ActionType.Type
  final let answer: ReducerAnswer
  /// Where in the model the part is that it changes; empty for the whole one.
  final let path: [AnyKeyPath]

  init(_ actionType: any ActionType.Type, _ answer: ReducerAnswer, path: [AnyKeyPath]) {
    self.actionType = actionType
    self.answer = answer
    self.path = path
  }

  /// Changes the model for an action of its type.
  func reduce(into model: inout Model, _ action: any ActionType) throws {
    fatalError("Handler is abstract.")
  }

  /// Makes the operation for an action of its type, where a round runs that.
  func operation(
    for action: HandledAction, in store: HandlerStore<Model>
  ) -> ActionOperation<Model, HandledAction> {
    .make(action, store, .reducing(store.reducer), isReduction: true)
  }

  /// The calls of a store, for actions of its type.
  func makeCalls(of store: HandlerStore<Model>) -> ReducerCalls {
    fatalError("Handler is abstract.")
  }

  func responds(to type: any ActionType.Type) -> Bool { fatalError("Handler is abstract.") }

  /// The same for a model of which this is a part.
  func lifted<Whole: Sendable>(
    to path: any WritableKeyPath<Whole, Model> & Sendable
  ) -> Handler<Whole> {
    stopLifting()
  }

  func lifted<Whole: Sendable>(
    toOptional path: any WritableKeyPath<Whole, Model?> & Sendable
  ) -> Handler<Whole> {
    stopLifting()
  }

  final func stopLifting() -> Never {
    stopProgram(
      """
      A Part's handler of \(actionType) takes a Store, or it takes a ChildStore and the Part may be gone. In a Part, \
      a handler that does more than reduce takes a ChildStore; in one of an optional, an OptionalChildStore: write \
      `ifPresent: \(actionType).self`. Or move it out of the Part.
      """)
  }

  /// One handler that calls several of the same type, one after the other.
  class func joined(_ handlers: [Handler]) -> Handler {
    handlers.count == 1 ? handlers[0] : handlers[0].join(handlers)
  }

  func join(_ handlers: [Handler]) -> Handler { stopJoining() }

  final func stopJoining() -> Never {
    stopProgram(
      """
      Several handlers of \(actionType) are for different parts of a model, and one of them does more than reduce. \
      Only handlers that reduce can be combined: leave out the others, or handle a type for each.
      """)
  }
}

/// A handler with its action's type.
@usableFromInline
class TypedHandler<Model: Sendable, Action: ActionType>: Handler<Model>, @unchecked Sendable {
  // because its superclass is
  @usableFromInline typealias Reduce =
    @Sendable (UnsafeRawPointer, ThreadState) -> ReducerCalls.Answer
  @usableFromInline typealias Apply =
    @Sendable (UnsafeRawPointer, AnyObject) -> ReducerCalls.Answer

  init(_ answer: ReducerAnswer, path: [AnyKeyPath] = []) {
    super.init(Action.self, answer, path: path)
  }

  override func responds(to type: any ActionType.Type) -> Bool { type is Action.Type }

  /// One closure or two are made for each store; the others have the handler for a context.
  override final func makeCalls(of store: HandlerStore<Model>) -> ReducerCalls {
    ReducerCalls(
      on: store.storage, reduce: makeReduce(of: store.storage),
      reduceObserved: { action, store, thread in
        self.reduceObserved(
          action.assumingMemoryBound(to: Action.self).pointee, Self.typed(store), thread)
      },
      apply: makeApply(of: store),
      answer: { action, store, dispatch, thread in
        let action = action.assumingMemoryBound(to: Action.self).pointee
        return Self.typed(store).answer(self.wrap(action), of: dispatch, on: thread)
      },
      callBlock: store.calls.callBlock)
  }

  final func wrap(_ action: Action) -> HandledAction { HandledAction(action, handler: self) }

  /// Unsafe, because a checked cast would take as long as a reduction.
  @usableFromInline
  static func typed(_ store: AnyObject) -> HandlerStore<Model> {
    unsafeDowncast(store, to: HandlerStore<Model>.self)
  }

  // Each is called only where it is how the handler answers.

  func makeReduce(of storage: ModelStorage<Model, HandledAction>) -> Reduce {
    { _, _ in fatalError("The handler does not reduce.") }
  }

  func reduceObserved(
    _ action: Action, _ store: HandlerStore<Model>, _ thread: ThreadState
  ) -> InlineStep {
    fatalError("The handler does not reduce.")
  }

  func makeApply(of store: HandlerStore<Model>) -> Apply {
    { _, _ in fatalError("The handler does not apply.") }
  }
}
