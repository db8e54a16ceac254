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
  /// Its reducer's `reduce(into:action:)`; nil for a store that is held weakly.
  let reduction: Reduction?

  init(
    identifier: String, actionType: any ActionType.Type, sequence: UInt64, waitFor: WaitFor,
    ownership: StoreOwnership, overrides: ReducerOverrides, reduction: Reduction?
  ) {
    self.overrides = overrides
    self.reduction = reduction
    self.identifier = identifier
    self.actionType = actionType
    self.sequence = sequence
    self.waitFor = waitFor
    self.ownership = ownership
  }

  /// The store; nil where it was held weakly and is gone.
  var store: (any StoreType)? { fatalError("StoreEntry is abstract.") }

  /// Whether it was held weakly and is gone.
  var isGone: Bool { fatalError("StoreEntry is abstract.") }

  /// What its reducer says the store waits for; nil where that is what was declared.
  func refinedWaitFor(for action: any ActionType) -> WaitFor? {
    fatalError("StoreEntry is abstract.")
  }

  /// Runs the store's part of a dispatch on this thread, to its end where it can.
  ///
  /// For a store that is held strongly. The action is of a type that the store answers to.
  @inline(__always)
  final func run(
    _ action: any ActionType, of dispatch: Dispatch, on thread: ThreadState
  ) -> StraightStep {
    guard !overrides.operation else { return answer(action, of: dispatch, on: thread) }
    let end = withAddress(of: action) { reduction.unsafelyUnwrapped.run($0, thread) }
    return switch end {
    case .done: .finished
    case .observed: reduceObserved(action, of: dispatch, on: thread)
    case .failed(let error): .ended(StoreOutcome(thrown: error))
    }
  }

  /// Asks the reducer, and runs what it answers.
  func answer(
    _ action: any ActionType, of dispatch: Dispatch, on thread: ThreadState
  ) -> StraightStep {
    fatalError("StoreEntry is abstract.")
  }

  /// Commits, and tells of it.
  func reduceObserved(
    _ action: any ActionType, of dispatch: Dispatch, on thread: ThreadState
  ) -> StraightStep {
    fatalError("StoreEntry is abstract.")
  }

  func makePart(of action: any ActionType, waitFor: WaitFor) -> Part {
    fatalError("StoreEntry is abstract.")
  }

  /// Whether the store answers to actions of this type.
  func responds(to type: any ActionType.Type) -> Bool { fatalError("StoreEntry is abstract.") }

  /// Tells the store that it has left its dispatcher.
  func departed() { fatalError("StoreEntry is abstract.") }
}

/// Hands on the address of an action, inside its box.
@inline(__always)
private func withAddress<Result>(
  of action: any ActionType, _ body: (UnsafeRawPointer) -> Result
) -> Result {
  func open<Dynamic: ActionType>(_ action: Dynamic) -> Result {
    withUnsafePointer(to: action) { body(UnsafeRawPointer($0)) }
  }
  return open(action)
}

/// The typed side of an entry: below it nothing is cast.
final class TypedStoreEntry<Model: Sendable, Action: ActionType>: StoreEntry, @unchecked Sendable {
  // because `strong` is a constant, and weak references are safe to read on several threads
  private let strong: Store<Model, Action>?
  private weak let weakly: Store<Model, Action>?
  /// Whether two actions are the same, where their type lets one tell.
  let isSame: ((Action, Action) -> Bool)?

  init(
    _ store: Store<Model, Action>, sequence: UInt64, waitFor: WaitFor, ownership: StoreOwnership
  ) {
    // A weak reference makes every later retain of the store dearer: only those who ask pay.
    strong = ownership == .strong ? store : nil
    weakly = ownership == .weak ? store : nil
    isSame = Self.comparison
    super.init(
      identifier: store.identifier, actionType: Action.self, sequence: sequence, waitFor: waitFor,
      ownership: ownership, overrides: ReducerOverrides(of: store.reducer),
      reduction: ownership == .strong ? store.reduction : nil)
  }

  var typed: Store<Model, Action>? { strong ?? weakly }

  override var store: (any StoreType)? { typed }

  override var isGone: Bool { strong == nil && weakly == nil }

  /// The action as the store's own type: it was found by that, so that nothing need be cast.
  @inline(__always)
  func read<Value>(_ action: any ActionType, _ body: (Action) -> Value) -> Value {
    // The same type, or a subclass of it: a reference either way.
    withAddress(of: action) { body($0.assumingMemoryBound(to: Action.self).pointee) }
  }

  override func refinedWaitFor(for action: any ActionType) -> WaitFor? {
    guard let store = typed else { return nil }
    let refined = read(action) {
      store.reducer.waitFor(for: $0, in: store, declared: waitFor)
    }
    return refined.isSame(as: waitFor) ? nil : refined
  }

  override func answer(
    _ action: any ActionType, of dispatch: Dispatch, on thread: ThreadState
  ) -> StraightStep {
    read(action) { strong.unsafelyUnwrapped.run($0, of: dispatch, by: self, on: thread) }
  }

  override func reduceObserved(
    _ action: any ActionType, of dispatch: Dispatch, on thread: ThreadState
  ) -> StraightStep {
    read(action) { strong.unsafelyUnwrapped.reduce($0, of: dispatch, on: thread) }
  }

  override func makePart(of action: any ActionType, waitFor: WaitFor) -> Part {
    TypedPart(self, runsRegardless: waitFor.runsRegardless, action: action)
  }

  override func responds(to type: any ActionType.Type) -> Bool {
    type is Action.Type
  }

  private static var comparison: ((Action, Action) -> Bool)? {
    if let type = Action.self as? any Equatable.Type { return equality(of: type) }
    if Action.self is AnyClass { return { ($0 as AnyObject) === ($1 as AnyObject) } }
    return nil
  }

  private static func equality<Value: Equatable>(
    of type: Value.Type
  ) -> (Action, Action) -> Bool {
    { $0 as? Value == $1 as? Value }
  }

  override func departed() {
    typed?.leaveDispatcher()
  }
}
