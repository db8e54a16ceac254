/// A part of a store's model, with the actions for it; without the types of the store.
///
/// It has nothing of the model: each call goes to the store.
class StorePart<Model: Sendable, Action: ActionType>: @unchecked Sendable {
  // because it is constant, and so is its subclass
  final let storage: StoreStorage

  fileprivate init(of storage: StoreStorage) {
    self.storage = storage
  }

  /// Calls a closure with the part, in the exclusive section; false where it is gone.
  func read(_ body: (Model) -> Void) -> Bool { fatalError("StorePart is abstract.") }

  /// Changes the part: one commit; false, and none, where it is gone.
  func update(_ body: (inout Model) -> Void) -> Bool { fatalError("StorePart is abstract.") }

  /// For messages.
  var name: String { fatalError("StorePart is abstract.") }

  /// A part of it.
  func appending<Next, Local>(
    _ path: PartPath<Model, Next>, _ embed: @escaping @Sendable (Local) -> Action
  ) -> StorePart<Next, Local> { fatalError("StorePart is abstract.") }

  /// - Parameter areEqual: Of two equal values in turn the second is not delivered; nil where all are.
  func observe(
    on queue: ObserverQueue?, initial: Bool, by areEqual: (@Sendable (Model, Model) -> Bool)?,
    _ body: @escaping @Sendable (ChildChange<Model?>) -> Void
  ) -> ObserverToken { fatalError("StorePart is abstract.") }

  func dispatch(
    _ action: Action, _ mode: Dispatcher.Mode, _ options: DispatchOptions,
    _ completion: Completion?, _ fileID: StaticString, _ line: UInt
  ) -> DispatchHandle { fatalError("StorePart is abstract.") }

  func dispatch(
    _ actions: [Action], _ mode: Dispatcher.Mode, _ options: DispatchOptions,
    _ completion: Completion?, _ fileID: StaticString, _ line: UInt
  ) -> DispatchHandle { fatalError("StorePart is abstract.") }

  nonisolated(nonsending) func send(
    _ action: Action, _ mode: Dispatcher.Mode, _ options: DispatchOptions,
    _ completion: (@Sendable (DispatchResult) -> Void)?, _ fileID: StaticString, _ line: UInt
  ) async -> DispatchResult { fatalError("StorePart is abstract.") }
}

/// The same with the types of the store, which it keeps alive.
final class TypedStorePart<
  Root: Sendable, RootAction: ActionType, Model: Sendable, Action: ActionType
>:
  StorePart<Model, Action>, @unchecked Sendable
{
  // because it is constant
  private let store: Store<Root, RootAction>
  private let path: PartPath<Root, Model>
  private let embed: @Sendable (Action) -> RootAction

  init(
    of store: Store<Root, RootAction>, _ path: PartPath<Root, Model>,
    _ embed: @escaping @Sendable (Action) -> RootAction
  ) {
    self.store = store
    self.path = path
    self.embed = embed
    super.init(of: store.storage)
  }

  override func read(_ body: (Model) -> Void) -> Bool {
    store.withModel { path.read($0, body) }
  }

  override func update(_ body: (inout Model) -> Void) -> Bool {
    // On behalf of the store's reducer, which is so said to have changed nothing where the part is gone.
    let reducer = store.reducer
    return store.commit(for: nil, action: nil, by: reducer) { model in
      let isFound = path.modify(&model, body)
      if !isFound { ThreadState.current.noteUnchanged(by: ObjectIdentifier(reducer)) }
      return isFound
    }
  }

  override var name: String { path.name() }

  override func appending<Next, Local>(
    _ path: PartPath<Model, Next>, _ embed: @escaping @Sendable (Local) -> Action
  ) -> StorePart<Next, Local> {
    let outer = self.embed
    return TypedStorePart<Root, RootAction, Next, Local>(
      of: store, self.path.appending(path), { outer(embed($0)) })
  }

  override func observe(
    on queue: ObserverQueue?, initial: Bool, by areEqual: (@Sendable (Model, Model) -> Bool)?,
    _ body: @escaping @Sendable (ChildChange<Model?>) -> Void
  ) -> ObserverToken {
    let observer = PartObserver(path, of: store, on: queue, by: areEqual, body)
    if !initial { store.withModel { observer.begin(with: $0) } }
    return store.observe(observer, initial: initial)
  }

  override func dispatch(
    _ action: Action, _ mode: Dispatcher.Mode, _ options: DispatchOptions,
    _ completion: Completion?, _ fileID: StaticString, _ line: UInt
  ) -> DispatchHandle {
    guard let completion else {
      return store.dispatch(
        embed(action), mode: mode, options: options, fileID: fileID, line: line)
    }
    guard let dispatcher = store.dispatcher else { return store.refuse(completion, fileID, line) }
    return dispatcher.dispatch(
      embed(action), to: store.identifier, mode, options, completion, fileID, line)
  }

  override func dispatch(
    _ actions: [Action], _ mode: Dispatcher.Mode, _ options: DispatchOptions,
    _ completion: Completion?, _ fileID: StaticString, _ line: UInt
  ) -> DispatchHandle {
    guard let dispatcher = store.dispatcher else { return store.refuse(completion, fileID, line) }
    return dispatcher.enqueue(
      actions.map(embed), to: store.identifier, mode: mode, options: options, completion, fileID,
      line)
  }

  override nonisolated(nonsending) func send(
    _ action: Action, _ mode: Dispatcher.Mode, _ options: DispatchOptions,
    _ completion: (@Sendable (DispatchResult) -> Void)?, _ fileID: StaticString, _ line: UInt
  ) async -> DispatchResult {
    await store.send(
      embed(action), mode: mode, options: options, then: completion, fileID: fileID, line: line)
  }
}

extension StorePart {
  /// The part as it is; nil where it is gone.
  var snapshot: Model? {
    var snapshot: Model?
    _ = read { snapshot = $0 }
    return snapshot
  }

  /// Reads the part by a closure that may throw; nil where it is gone.
  func withModel<Value, Failure: Error>(
    _ body: (Model) throws(Failure) -> Value
  ) throws(Failure) -> Value? {
    var result: Result<Value, Failure>?
    _ = read { model in result = Result { () throws(Failure) in try body(model) } }
    return try result?.get()
  }

  /// Changes the part by a closure that may throw; nil where it is gone.
  func updateModel<Value, Failure: Error>(
    _ body: (inout Model) throws(Failure) -> Value
  ) throws(Failure) -> Value? {
    var result: Result<Value, Failure>?
    _ = update { model in result = Result { () throws(Failure) in try body(&model) } }
    return try result?.get()
  }
}
