/// The behaviour of a store for one action type.
///
/// A subclass knows the type statically.
@usableFromInline
class Handler<Model: Sendable>: @unchecked Sendable {
  // because all of its properties are constants
  final let actionType: any ActionType.Type
  final let answer: ReducerAnswer
  /// Key path of the part that the handler changes, from the whole model.
  ///
  /// Empty for the whole model. The value of an optional has an identity after the path of the optional.
  final let path: [AnyKeyPath]

  init(_ actionType: any ActionType.Type, _ answer: ReducerAnswer, path: [AnyKeyPath]) {
    self.actionType = actionType
    self.answer = answer
    self.path = path
  }

  /// Changes the model for an action of the handler's type.
  func reduce(into model: inout Model, _ action: any ActionType) throws {
    fatalError("Handler is abstract.")
  }

  /// Makes the operation for an action of the handler's type, if a round runs it.
  func operation(
    for action: HandledAction, in store: HandlerStore<Model>
  ) -> ActionOperation<Model, HandledAction> {
    .make(action, store, .reducing(store.reducer), isOfLibrary: true)
  }

  /// Makes the calls of a store for actions of the handler's type: those that its `answer` needs.
  func makeCalls(of store: HandlerStore<Model>) -> ReducerCalls {
    fatalError("Handler is abstract.")
  }

  func responds(to type: any ActionType.Type) -> Bool { fatalError("Handler is abstract.") }

  /// Returns this handler for a model that contains this model.
  ///
  /// - Parameters:
  ///   - part: The path to this model.
  ///   - mayBeAbsent: Whether there may be no such part, so that the handler is not called.
  func lifted<Whole: Sendable>(
    to part: PartPath<Model>, at path: AnyKeyPath, mayBeAbsent: Bool
  ) -> Handler<Whole> {
    fatalError("Handler is abstract.")
  }

  /// Returns the handler's path from a model that contains this model.
  ///
  /// An optional's value is another part than the optional, with the same key path. Other paths are joined, so that a part
  /// has one path, however it is written.
  final func pathInWhole(_ path: AnyKeyPath, _ mayBeAbsent: Bool) -> [AnyKeyPath] {
    if mayBeAbsent { return [path, \Model.self as AnyKeyPath] + self.path }
    guard let first = self.path.first, let joined = path.appending(path: first) else {
      return [path] + self.path
    }
    return [joined] + self.path.dropFirst()
  }

  /// Returns one handler that calls several handlers of the same type, in order.
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

/// A handler that knows its action's type statically.
@usableFromInline
class TypedHandler<Model: Sendable, Action: ActionType>: Handler<Model>, @unchecked Sendable {
  // because its superclass is
  init(_ answer: ReducerAnswer, path: [AnyKeyPath] = []) {
    super.init(Action.self, answer, path: path)
  }

  override func responds(to type: any ActionType.Type) -> Bool { type is Action.Type }

  /// Casts without a check, because a checked cast would take as long as a reduction.
  @usableFromInline
  static func typed(_ store: AnyObject) -> HandlerStore<Model> {
    unsafeDowncast(store, to: HandlerStore<Model>.self)
  }
}
