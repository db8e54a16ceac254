/// A registered store, as the registry and routes refer to it.
class StoreEntry: @unchecked Sendable {  // because all of its properties are constants
  let identifier: String
  let actionType: any ActionType.Type
  /// The order of registration, which decides ties in the `waitFor` order.
  let sequence: UInt64
  let waitFor: WaitFor
  let ownership: StoreOwnership
  /// The methods that its reducer overrides.
  let overrides: ReducerOverrides
  /// The calls of its reducer; nil for a weakly owned store.
  let calls: ReducerCalls?
  /// The store itself; nil for a weakly owned one.
  let object: AnyObject?
  /// The same for hooks; a `DepartedStore` for a weakly owned one.
  let strongStore: any StoreType
  var isStrong: Bool { object != nil }

  init(
    identifier: String, actionType: any ActionType.Type, sequence: UInt64, waitFor: WaitFor,
    ownership: StoreOwnership, overrides: ReducerOverrides, calls: ReducerCalls?,
    strongStore: (any StoreType)?
  ) {
    self.overrides = overrides
    self.calls = calls
    object = strongStore
    self.strongStore =
      strongStore ?? DepartedStore(identifier: identifier, actionType: actionType)
    self.identifier = identifier
    self.actionType = actionType
    self.sequence = sequence
    self.waitFor = waitFor
    self.ownership = ownership
  }

  /// The store; nil where it was released.
  var store: (any StoreType)? { fatalError("StoreEntry is abstract.") }

  /// The store, or a `DepartedStore` where it was released.
  var storeForHooks: any StoreType { fatalError("StoreEntry is abstract.") }

  /// The store with the calls of its reducer; nil where it was released.
  var target: (ReducerCalls, AnyObject)? { fatalError("StoreEntry is abstract.") }

  /// The store's storage; nil where the store was released.
  var storage: StoreStorage? { fatalError("StoreEntry is abstract.") }

  /// Whether the store is weakly owned and was released.
  var isGone: Bool { fatalError("StoreEntry is abstract.") }

  /// The prerequisites that its reducer sets for an action; nil where it keeps the declared ones.
  func refinedWaitFor(for action: any ActionType) -> WaitFor? {
    fatalError("StoreEntry is abstract.")
  }

  func makeStoreRun(of action: any ActionType) -> StoreRun {
    fatalError("StoreEntry is abstract.")
  }

  /// Whether the store responds to actions of this type.
  func responds(to type: any ActionType.Type) -> Bool { fatalError("StoreEntry is abstract.") }

  /// Called when the entry has left the registry: the store leaves its dispatcher.
  func departed() { fatalError("StoreEntry is abstract.") }
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
final class TypedStoreEntry<Model: Sendable, Action: ActionType>: StoreEntry, @unchecked Sendable {
  // because `strong` is a constant, and weak references are safe to read on several threads
  private let strong: Store<Model, Action>?
  private weak let weakly: Store<Model, Action>?
  init(
    _ store: Store<Model, Action>, sequence: UInt64, waitFor: WaitFor, ownership: StoreOwnership
  ) {
    // A weak reference slows every later retain of the store: only a weakly owned one has it.
    strong = ownership == .strong ? store : nil
    weakly = ownership == .weak ? store : nil
    super.init(
      identifier: store.identifier, actionType: Action.self, sequence: sequence, waitFor: waitFor,
      ownership: ownership, overrides: ReducerOverrides(of: store.reducer),
      calls: ownership == .strong ? store.calls : nil,
      strongStore: ownership == .strong ? store : nil)
  }

  var typed: Store<Model, Action>? { strong ?? weakly }

  override var store: (any StoreType)? { typed }

  override var storeForHooks: any StoreType {
    typed ?? DepartedStore(identifier: identifier, actionType: Action.self)
  }

  override var target: (ReducerCalls, AnyObject)? { typed.map { ($0.calls, $0) } }

  override var storage: StoreStorage? { typed?.storage }

  override var isGone: Bool { strong == nil && weakly == nil }

  /// Passes the action as the store's action type, without a cast: the registry has matched them.
  @inline(__always)
  func read<Value>(_ action: any ActionType, _ body: (Action) -> Value) -> Value {
    // It is of that type, or of a subclass of it, and so a reference in both cases.
    withAddress(of: action) { body($0.assumingMemoryBound(to: Action.self).pointee) }
  }

  override func refinedWaitFor(for action: any ActionType) -> WaitFor? {
    guard overrides.waitFor, let store = typed else { return nil }
    let refined = read(action) {
      store.reducer.waitFor(for: $0, in: store, declared: waitFor)
    }
    return refined.isSame(as: waitFor) ? nil : refined
  }

  override func makeStoreRun(of action: any ActionType) -> StoreRun {
    TypedStoreRun(self, action: action)
  }

  override func responds(to type: any ActionType.Type) -> Bool {
    type is Action.Type
  }

  override func departed() {
    typed?.leaveDispatcher()
  }
}
