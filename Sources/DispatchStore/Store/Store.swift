import Synchronization

/// A model behind one lock, with the reducer that handles its actions.
///
/// The model is read as a snapshot and changed by commits, which are totally ordered and numbered by
/// `version`. A store may be used from any thread. It belongs to at most one dispatcher, which holds
/// it strongly unless the store is registered as weak (`StoreOwnership`). The store does not keep that alive.
///
/// The closures of `updateModel` and `withModel`, and `Reducer.reduce(into:action:)`, run inside the
/// store's exclusive section: there, no store may be changed or read, and nothing may be dispatched
/// with `.sync`. Each of these fails a precondition, whose message names both stores. What is dispatched there
/// in another mode is accepted when the section is left, before the observers are notified: its handle
/// exists at once, and the registry's snapshot and the hooks follow then.
public final class Store<Model: Sendable, Action: ActionType>: StoreType {
  /// The name under which it is registered; unique unless given.
  public let identifier: String

  /// Makes a store that starts with a model.
  ///
  /// - Parameters:
  ///   - identifier: The name to register it under; a unique one where none is given.
  ///   - model: The first model.
  ///   - reads: Whether reads may wait for a reduction in progress.
  ///   - reducer: Handles its actions; nothing else may use it afterwards.
  @inlinable
  public convenience init(
    identifier: String? = nil, model: Model, reads: StoreReads = .exclusive,
    reducer: sending Reducer<Model, Action>
  ) {
    let storage = ModelStorage<Model, Action>(
      identifier: identifier ?? GeneratedIdentifier.next(for: Model.self), model: model,
      reads: reads)
    self.init(storage, reducer, ReducerCalls(of: reducer, on: storage))
  }

  /// The type of the actions that it responds to.
  public var actionType: any ActionType.Type { Action.self }

  /// The number of its commits so far.
  public var version: UInt64 {
    let thread = ThreadState.current
    if let published = storage.publishedToRead(on: thread) { return published.readVersion() }
    ExclusiveSection.check(storage, "read", on: thread)
    storage.noteRead(on: thread)
    return storage.withLock { _ in storage.version }
  }

  /// A snapshot of the model.
  ///
  /// While the program holds a snapshot, the next change copies what the model stores by copy-on-write; to read
  /// a part of a large model, use `withModel`.
  public var model: Model {
    let thread = ThreadState.current
    yieldPoint(.read, on: thread, identifier)
    if let published = storage.publishedToRead(on: thread) { return published.read() }
    ExclusiveSection.check(storage, "read", on: thread)
    storage.noteRead(on: thread)
    return storage.withLock { _ in storage.model.pointee }
  }

  /// Reads a part of the model in the store's exclusive section, without taking a snapshot; where reads are published,
  /// in the published one.
  @inlinable
  public func withModel<Value, Failure: Error>(
    _ body: (Model) throws(Failure) -> Value
  ) throws(Failure) -> Value {
    let thread = ThreadState.here(storage)
    if let published = storage.publishedToRead(on: thread) { return try body(published.read()) }
    storage.noteRead(on: thread)
    storage.lockToRead(on: thread)
    defer { storage.unlockUnchanged(on: thread) }
    return try body(storage.model.pointee)
  }

  /// Changes the model in place: one commit, of which the observers are notified before this returns.
  ///
  /// Where another thread notifies them meanwhile, a caller from outside, or in a `.sync` dispatch, waits for its
  /// turn. In an action in a lane or on the concurrent queue, the change is left to that thread, and this returns
  /// at once: `didDispatch` and the completion follow the delivery. An action that has left 64 changes waits, too.
  ///
  /// If the closure throws, what it changed before is committed and delivered too, and this rethrows the
  /// error. A thread that is itself notifying observers leaves the change to this store's notifier, which
  /// delivers it next in order. Copies nothing as long as the program holds no snapshot, and no change
  /// that was left has the whole model for an inline observer.
  @discardableResult
  @inlinable
  public func updateModel<Value, Failure: Error>(
    _ body: (inout Model) throws(Failure) -> Value
  ) throws(Failure) -> Value {
    try commit(for: nil, action: nil, body)
  }

  /// Replaces the model: one commit, of which the observers are notified as of any other.
  ///
  /// - Parameter action: The action that observers get with the change.
  public func inject(model: Model, action: Action? = nil) {
    commit(for: nil, action: action) { $0 = model }
  }

  /// The dispatcher that it is registered with.
  public var dispatcher: Dispatcher? {
    home.withLock { $0?.dispatcher }
  }

  /// Unsafe, because a reducer can't be Sendable; it holds no mutable state.
  @usableFromInline nonisolated(unsafe) let reducer: Reducer<Model, Action>
  let calls: ReducerCalls
  @usableFromInline let storage: ModelStorage<Model, Action>
  /// At hand, because looking a generic type up costs more than what it is needed for.
  @usableFromInline let operationType: ObjectIdentifier
  /// The dispatcher that it is registered with; nothing is kept of former ones.
  let home = Locked<DispatcherReference?>(nil)

  @usableFromInline
  init(
    _ storage: ModelStorage<Model, Action>, _ reducer: Reducer<Model, Action>, _ calls: ReducerCalls
  ) {
    identifier = storage.identifier
    self.reducer = reducer
    self.storage = storage
    self.calls = calls
    operationType = ObjectIdentifier(ActionOperation<Model, Action>.self)
  }
}

extension Store where Model: ModelType {
  /// Makes a store that starts with `Model()`.
  ///
  /// - Parameters:
  ///   - identifier: The name to register it under; a unique one where none is given.
  ///   - reads: Whether reads may wait for a reduction in progress.
  ///   - reducer: Handles its actions; nothing else may use it afterwards.
  @inlinable
  public convenience init(
    identifier: String? = nil, reads: StoreReads = .exclusive,
    reducer: sending Reducer<Model, Action>
  ) {
    self.init(identifier: identifier, model: Model(), reads: reads, reducer: reducer)
  }
}

extension Store {
  func report(_ kind: DispatchIncident.Kind, _ message: String) {
    let incident = DispatchIncident(
      kind: kind, storeIdentifier: identifier, message: "Store \"\(identifier)\": \(message)")
    guard let dispatcher else { return DispatchIncident.writeToStandardError(incident) }
    dispatcher.report(incident)
  }
}
