/// A registered store, as the registry and a dispatch under way hold it.
class StoreEntry: @unchecked Sendable {  // because all of its properties are constants
  let identifier: String
  let actionType: any ActionType.Type
  /// Rises with registration: ties in `waitFor` order go by it.
  let sequence: UInt64
  let waitFor: WaitFor
  let ownership: StoreOwnership
  /// What its reducer does itself.
  let overrides: ReducerOverrides
  /// The calls of its reducer; nil for a store that is held weakly.
  let calls: ReducerCalls?
  /// The store itself, where it is held strongly.
  let object: AnyObject?

  init(
    identifier: String, actionType: any ActionType.Type, sequence: UInt64, waitFor: WaitFor,
    ownership: StoreOwnership, overrides: ReducerOverrides, calls: ReducerCalls?, object: AnyObject?
  ) {
    self.overrides = overrides
    self.calls = calls
    self.object = object
    self.identifier = identifier
    self.actionType = actionType
    self.sequence = sequence
    self.waitFor = waitFor
    self.ownership = ownership
  }

  /// The store; nil where it was held weakly and is gone.
  var store: (any StoreType)? { fatalError("StoreEntry is abstract.") }

  /// The store, or what stands for one that was held weakly and is gone.
  var storeForHooks: any StoreType { fatalError("StoreEntry is abstract.") }

  /// The store with the calls of its reducer; nil where it was held weakly and is gone.
  var target: (ReducerCalls, AnyObject)? { fatalError("StoreEntry is abstract.") }

  /// Whether it was held weakly and is gone.
  var isGone: Bool { fatalError("StoreEntry is abstract.") }

  /// What its reducer refines the order to; nil where it keeps what was declared.
  func refinedWaitFor(for action: any ActionType) -> WaitFor? {
    fatalError("StoreEntry is abstract.")
  }

  func makeStoreRun(of action: any ActionType) -> StoreRun {
    fatalError("StoreEntry is abstract.")
  }

  /// Whether the store answers to actions of this type.
  func responds(to type: any ActionType.Type) -> Bool { fatalError("StoreEntry is abstract.") }

  /// The store leaves its dispatcher.
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

/// The typed side of an entry: below it nothing is cast.
final class TypedStoreEntry<Model: Sendable, Action: ActionType>: StoreEntry, @unchecked Sendable {
  // because `strong` is a constant, and weak references are safe to read on several threads
  private let strong: Store<Model, Action>?
  private weak let weakly: Store<Model, Action>?
  init(
    _ store: Store<Model, Action>, sequence: UInt64, waitFor: WaitFor, ownership: StoreOwnership
  ) {
    // A weak reference makes every later retain of the store dearer: only those who ask pay.
    strong = ownership == .strong ? store : nil
    weakly = ownership == .weak ? store : nil
    super.init(
      identifier: store.identifier, actionType: Action.self, sequence: sequence, waitFor: waitFor,
      ownership: ownership, overrides: ReducerOverrides(of: store.reducer),
      calls: ownership == .strong ? store.calls : nil,
      object: ownership == .strong ? store : nil)
  }

  var typed: Store<Model, Action>? { strong ?? weakly }

  override var store: (any StoreType)? { typed }

  override var storeForHooks: any StoreType {
    typed ?? DepartedStore(identifier: identifier, actionType: Action.self)
  }

  override var target: (ReducerCalls, AnyObject)? { typed.map { ($0.calls, $0) } }

  override var isGone: Bool { strong == nil && weakly == nil }

  /// The action as the store's own type: it was found by that, so that nothing need be cast.
  @inline(__always)
  func read<Value>(_ action: any ActionType, _ body: (Action) -> Value) -> Value {
    // The same type, or a subclass of it: a reference either way.
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
