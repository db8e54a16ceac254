import Synchronization

/// A model behind one lock, with the reducer that handles its actions.
///
/// You read the model as a snapshot, and change it by commits, which are totally ordered and numbered by `version`. A
/// store may be used from any thread. It belongs to at most one dispatcher, which holds it strongly unless it is
/// registered as weak (`StoreOwnership`). The store does not keep the dispatcher alive.
///
/// The closures of `updateModel` and `withModel`, and `Reducer.reduce(into:action:)`, run inside the store's
/// exclusive section. In the section:
///
/// - Don't change a store, and don't dispatch with `.sync`. Read a store only if it was made with `reads: .published`;
///   in an atomic action, also those that come before. Anything else stops the program, and the message names the
///   stores.
/// - A dispatch in another mode is accepted at the end of the section, before observers are notified. Its handle
///   exists at once. Its snapshot of the registry and its hooks follow at the end.
public final class Store<Model: Sendable, Action: ActionType>: StoreType {
  /// The name under which the store is registered.
  ///
  /// Unique unless given.
  public let identifier: String

  /// Makes a store that starts with a model.
  ///
  /// - Parameters:
  ///   - identifier: The name to register the store under. A unique one if nil.
  ///   - model: The first model.
  ///   - reads: Whether reads may wait for a reduction in progress.
  ///   - reducer: Handles the store's actions. Nothing else may use it afterwards.
  @inlinable
  public convenience init(
    identifier: String? = nil, model: Model, reads: StoreReads = .exclusive,
    reducer: sending Reducer<Model, Action>
  ) {
    let storage = ModelStorage<Model, Action>(
      identifier: identifier ?? GeneratedIdentifier.next(for: Model.self), model: model,
      reads: reads, makeUndo: { .copying(Model.self) })
    self.init(storage, reducer, ReducerCalls(of: reducer, on: storage))
  }

  /// The number of the store's commits so far.
  public var version: UInt64 {
    let thread = ThreadState.current
    if let published = storage.publishedToRead(on: thread) { return published.readVersion() }
    if thread.isInSection {
      AtomicStep.checkRead(of: storage, on: thread)
      return storage.version
    }
    storage.noteRead(on: thread)
    return storage.withLock { _ in storage.version }
  }

  /// A snapshot of the model.
  ///
  /// While you hold a snapshot, the next change copies by copy-on-write. To read a part of a large model, use
  /// `withModel`.
  public var model: Model {
    let thread = ThreadState.current
    yieldPoint(.read, on: thread, identifier)
    defer { yieldPoint(.goOn, on: thread, identifier) }
    if let published = storage.publishedToRead(on: thread) { return published.read() }
    if thread.isInSection {
      AtomicStep.checkRead(of: storage, on: thread)
      return storage.model.pointee
    }
    storage.noteRead(on: thread)
    return storage.withLock { _ in storage.model.pointee }
  }

  /// Reads a part of the model in the store's exclusive section, without taking a snapshot.
  ///
  /// If reads are published, it reads from the published model, outside of the section.
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
  /// If another thread is notifying them, the caller's context decides:
  ///
  /// - A caller from outside waits for its turn. So does one in a `.sync` dispatch.
  /// - An action in a lane or on the concurrent queue leaves the change to that thread, and this returns at once. Its
  ///   `didDispatch` and completion follow the delivery. After it has left 64 changes, it waits too.
  /// - A thread that is itself notifying observers leaves the change to this store's notifier, which delivers it next
  ///   in order.
  ///
  /// If the closure throws, its earlier changes are still committed and delivered, and this rethrows the error.
  ///
  /// Nothing is copied, unless the program holds a snapshot, or a change that was left keeps the whole model for an
  /// inline observer.
  @discardableResult
  @inlinable
  public func updateModel<Value, Failure: Error>(
    _ body: (inout Model) throws(Failure) -> Value
  ) throws(Failure) -> Value {
    try commit(for: nil, action: nil, body)
  }

  /// Replaces the model in one commit.
  ///
  /// Observers are notified as of any other commit, with the action that you pass.
  public func inject(model: Model, action: Action? = nil) {
    var former = model
    commit(for: nil, action: action) { swap(&$0, &former) }
    // Released here, with no lock held: its deinitialisers are user code.
    withExtendedLifetime(former) {}
  }

  /// The dispatcher that the store is registered with.
  public var dispatcher: Dispatcher? {
    home.withLock { $0?.dispatcher }
  }

  /// The reducer.
  ///
  /// Unsafe, because a reducer can't be Sendable; it holds no mutable state.
  @usableFromInline nonisolated(unsafe) let reducer: Reducer<Model, Action>
  let calls: ReducerCalls
  @usableFromInline let storage: ModelStorage<Model, Action>
  /// A local copy, because looking up the generic type would cost more than its use.
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

  deinit {
    storage.afterSection { $0.storeGoes() }
  }
}

extension Store where Model: ModelType {
  /// Makes a store that starts with `Model()`.
  ///
  /// - Parameters:
  ///   - identifier: The name to register the store under. A unique one if nil.
  ///   - reads: Whether reads may wait for a reduction in progress.
  ///   - reducer: Handles the store's actions. Nothing else may use it afterwards.
  @inlinable
  public convenience init(
    identifier: String? = nil, reads: StoreReads = .exclusive,
    reducer: sending Reducer<Model, Action>
  ) {
    self.init(identifier: identifier, model: Model(), reads: reads, reducer: reducer)
  }
}

extension Store {
  func report(_ kind: DispatchWarning.Kind, _ message: String) {
    let warning = DispatchWarning(
      kind: kind, storeIdentifier: identifier, message: "Store \"\(identifier)\": \(message)")
    guard let dispatcher else { return DispatchWarning.writeToStandardError(warning) }
    dispatcher.report(warning)
  }
}
