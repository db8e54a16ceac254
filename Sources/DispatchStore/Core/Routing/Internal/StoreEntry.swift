/// A registered store, as the registry and routes refer to it.
class StoreEntry: @unchecked Sendable {  // because all of its properties are constants
  let identifier: String
  /// The type of the actions that this entry gets; the store may respond to others by other entries.
  let actionType: any ActionType.Type
  final let registration: StoreRegistration
  final var sequence: UInt64 { registration.sequence }
  final var waitFor: WaitFor { registration.waitFor }
  final var ownership: StoreOwnership { registration.ownership }
  final var endGate: EndGate? { registration.endGate }
  /// The methods that the store's reducer overrides.
  let overrides: ReducerOverrides
  /// The calls of the store's reducer; nil for a weakly owned store.
  let calls: ReducerCalls?
  /// The store; nil if it is weakly owned.
  let object: AnyObject?
  /// The store for hooks; a `DepartedStore` if it is weakly owned.
  let strongStore: any StoreType
  var isStrong: Bool { object != nil }

  init(
    identifier: String, _ registration: StoreRegistration, actionType: any ActionType.Type,
    overrides: ReducerOverrides, calls: ReducerCalls?, strongStore: (any StoreType)?
  ) {
    self.registration = registration
    self.overrides = overrides
    self.calls = calls
    object = strongStore
    self.strongStore = strongStore ?? DepartedStore(identifier: identifier)
    self.identifier = identifier
    self.actionType = actionType
  }

  /// The store, or nil if it was released.
  var store: (any StoreType)? { fatalError("StoreEntry is abstract.") }

  /// The store, or a `DepartedStore` if it was released.
  final var storeForHooks: any StoreType { store ?? strongStore }

  /// Calls a hook with the store, directly if the entry keeps the store.
  @inline(__always)
  final func withStoreForHooks<Result>(_ body: (any StoreType) -> Result) -> Result {
    isStrong ? body(strongStore) : body(storeForHooks)
  }

  /// The store with the calls of its reducer, or nil if it was released.
  var target: (ReducerCalls, AnyObject)? { fatalError("StoreEntry is abstract.") }

  /// The store's storage, or nil if the store was released.
  var storage: StoreStorage? { fatalError("StoreEntry is abstract.") }

  /// Whether the store is weakly owned and was released.
  final var isGone: Bool { !isStrong && store == nil }

  /// Returns the prerequisites that the reducer sets for an action, or nil if it keeps the declared ones.
  func refinedWaitFor(for action: any ActionType) -> WaitFor? {
    fatalError("StoreEntry is abstract.")
  }

  /// Whether the entry belongs to a store.
  final func isOf(_ store: AnyObject) -> Bool { self.store === store }

  /// Passes an action to the store in a round; an operation is left to run.
  ///
  /// If the store was held weakly and is gone, its part ends as cancelled.
  final func answer(_ action: any ActionType, on thread: ThreadState) -> InlineStep {
    if overrides.answer == .operation { return makeOperation(for: action) }
    guard let (calls, store) = target else { return .ended(.cancelled(hasStarted: false)) }
    return withAddress(of: action) { address in
      if overrides.answer == .application { return calls.apply(address, store) }
      return calls.reduce(address, thread) ?? calls.reduceObserved(address, store, thread)
    }
  }

  /// Calls the reducer for an operation, and claims the operation.
  func makeOperation(for action: any ActionType) -> InlineStep {
    fatalError("StoreEntry is abstract.")
  }

  // MARK: Commits of atomic actions

  /// Whether observers are notified of the commit of the action at an address.
  func notifiesObservers(of action: UnsafeRawPointer) -> Bool {
    fatalError("StoreEntry is abstract.")
  }

  /// Makes the change for observers of the action at an address; called in the exclusive section.
  ///
  /// - Parameter isDelivered: Whether observers are to know of the commit.
  func makeChange(
    by action: UnsafeRawPointer, of owner: any CommitOwner, isDelivered: Bool
  ) -> AtomicChange {
    fatalError("StoreEntry is abstract.")
  }

  // MARK: Action types

  /// Whether the entry gets actions of this type.
  func responds(to type: any ActionType.Type) -> Bool { fatalError("StoreEntry is abstract.") }

  /// The entries of the store: one for each action type that it responds to.
  var members: [StoreEntry] { [self] }

  /// Returns the store's entry that gets actions of this type, or nil.
  func member(for type: any ActionType.Type) -> StoreEntry? {
    responds(to: type) ? self : nil
  }

  /// Returns the action at an address, as the store's action type; nil if the store has none for it.
  func action<Action: ActionType>(at address: UnsafeRawPointer, as type: Action.Type) -> Action? {
    address.assumingMemoryBound(to: Action.self).pointee
  }

  /// Called when the entry has left the registry: the store leaves its dispatcher.
  func departed() { fatalError("StoreEntry is abstract.") }
}

/// How a store is registered.
struct StoreRegistration {
  /// The order of registration, which decides ties in the `waitFor` order.
  let sequence: UInt64
  let waitFor: WaitFor
  let ownership: StoreOwnership
  /// The gate at which dispatches to the store wait after their stores; nil for most.
  let endGate: EndGate?
}

/// Passes the address of an action to a closure.
func withAddress<Result>(
  of action: any ActionType, _ body: (UnsafeRawPointer) -> Result
) -> Result {
  func open<Dynamic: ActionType>(_ action: Dynamic) -> Result {
    withUnsafePointer(to: action) { body(UnsafeRawPointer($0)) }
  }
  return open(action)
}

/// Copies the action of a type at an address.
func copyAction(_ type: any ActionType.Type, at address: UnsafeRawPointer) -> any ActionType {
  func open<Dynamic: ActionType>(_ type: Dynamic.Type) -> any ActionType {
    address.assumingMemoryBound(to: Dynamic.self).pointee
  }
  return open(type)
}

/// An entry with the types of its store.
class TypedStoreEntry<Model: Sendable, Action: ActionType>: StoreEntry, @unchecked Sendable {
  // because `strong` is a constant, and weak references are safe to read on several threads
  private final let strong: Store<Model, Action>?
  private final weak let weakly: Store<Model, Action>?
  private final let makeCalls: @Sendable (Store<Model, Action>) -> ReducerCalls

  /// - Parameter makeCalls: Makes the calls of the store; by default those of its reducer.
  init(
    _ store: Store<Model, Action>, _ registration: StoreRegistration,
    actionType: any ActionType.Type = Action.self, overrides: ReducerOverrides? = nil,
    makeCalls: @escaping @Sendable (Store<Model, Action>) -> ReducerCalls = { $0.calls }
  ) {
    // A weak reference slows every later retain of the store: only a weakly owned one has it.
    let isStrong = registration.ownership == .strong
    strong = isStrong ? store : nil
    weakly = isStrong ? nil : store
    self.makeCalls = makeCalls
    super.init(
      identifier: store.identifier, registration, actionType: actionType,
      overrides: overrides ?? ReducerOverrides(of: store.reducer),
      calls: isStrong ? makeCalls(store) : nil, strongStore: isStrong ? store : nil)
  }

  final var typed: Store<Model, Action>? { strong ?? weakly }

  /// Returns an action that the entry gets, as the store's action type.
  func typed(_ action: any ActionType) -> Action? { action as? Action }

  override var store: (any StoreType)? { typed }

  override var target: (ReducerCalls, AnyObject)? {
    // `map` would look up the types of an optional store each time.
    guard let store = typed else { return nil }
    return (calls ?? makeCalls(store), store)
  }

  override var storage: StoreStorage? { typed?.storage }

  override func refinedWaitFor(for action: any ActionType) -> WaitFor? {
    guard overrides.waitFor, let store = typed, let action = typed(action) else { return nil }
    let refined = store.reducer.waitFor(for: action, in: store, declared: waitFor)
    return refined == waitFor ? nil : refined
  }

  override func makeOperation(for action: any ActionType) -> InlineStep {
    guard let store = typed, let action = typed(action) else {
      return .ended(.cancelled(hasStarted: false))
    }
    return store.claimForRound(store.reducer.operation(for: action, in: store), for: action)
  }

  // MARK: Commits of atomic actions

  override func notifiesObservers(of action: UnsafeRawPointer) -> Bool {
    guard let store = typed, let action = self.action(at: action, as: Action.self) else {
      return true
    }
    return store.reducer.shouldNotifyObservers(for: action, in: store)
  }

  override func makeChange(
    by action: UnsafeRawPointer, of owner: any CommitOwner, isDelivered: Bool
  ) -> AtomicChange {
    guard let store = typed else { return AtomicChange() }
    return AtomicChange(
      of: store, by: self.action(at: action, as: Action.self), owner, isDelivered: isDelivered)
  }

  // MARK: Action types

  override func responds(to type: any ActionType.Type) -> Bool {
    type is Action.Type
  }

  override func departed() {
    typed?.leaveDispatcher()
  }
}
