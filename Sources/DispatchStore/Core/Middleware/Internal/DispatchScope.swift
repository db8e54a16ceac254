import Synchronization

/// A dispatch as its hooks see it, with the values that they keep for it.
class DispatchScope: @unchecked Sendable {
  // because the values have a lock, and the rest changes only while the library has the only reference;
  // each subclass gives its own reason
  @exclusivity(unchecked) final var id = DispatchID(rawValue: 0)
  @exclusivity(unchecked) final var parent: DispatchID?
  @exclusivity(unchecked) final var mode = Dispatcher.Mode.sync
  @exclusivity(unchecked) final var callSite = CallSite(fileID: "", line: 0)
  private let waitedForSaving = Atomic(false)
  /// Whether the `dispatchWillBegin` hooks run.
  @exclusivity(unchecked) private var isBeginning = false

  var dispatcher: Dispatcher { fatalError("DispatchScope is abstract.") }

  /// Whether its stores have ended, and its end waits until their commits are saved, or has waited.
  ///
  /// Other dispatches may have committed meanwhile.
  final var hasWaitedForSaving: Bool { waitedForSaving.load(ordering: .relaxed) }

  /// Notes that its stores have ended, before the wait begins.
  final func noteWaitForSaving() { waitedForSaving.store(true, ordering: .relaxed) }

  /// The actions as dispatched.
  var actions: ShortList<any ActionType> { fatalError("DispatchScope is abstract.") }
  var isSequence: Bool { fatalError("DispatchScope is abstract.") }
  /// Whether this is one action of a sequence.
  var isStep: Bool { false }

  private struct Values {
    var bySlot: [Slot: any Sendable] = [:]
    var bound: [CapturedTaskLocal] = []
  }

  private let values = Locked(Values())

  private struct Slot: Hashable {
    let key: ObjectIdentifier
    /// The store, or nil for a value of all stores.
    let storeIndex: Int?
  }

  subscript<Key: DispatchKey>(key: Key.Type, storeIndex: Int?) -> Key.Value? {
    get {
      let slot = Slot(key: ObjectIdentifier(key), storeIndex: storeIndex)
      return values.withLock { $0.bySlot[slot] } as? Key.Value
    }
    set {
      let slot = Slot(key: ObjectIdentifier(key), storeIndex: storeIndex)
      // Released outside the lock, because a deinit may run user code.
      let former = values.withLock { values in
        defer { values.bySlot[slot] = newValue }
        return values.bySlot[slot]
      }
      withExtendedLifetime(former) {}
    }
  }

  // MARK: Task-local values

  /// Calls `dispatchWillBegin`, and returns the values that the hooks have bound, in their order.
  final func begin(_ middlewares: [any Middleware]) -> [CapturedTaskLocal] {
    isBeginning = true
    defer { isBeginning = false }
    let info = DispatchInfo(self)
    for middleware in middlewares { middleware.dispatchWillBegin(info) }
    return values.withLock { values in
      defer { values.bound = [] }
      return values.bound
    }
  }

  final func bind(_ value: CapturedTaskLocal, at callSite: CallSite) {
    guard isBeginning else {
      stopProgram(
        """
        A middleware bound a task-local value after the dispatch (\(callSite)) had begun, so that some of its code \
        would not see it. Call bind(_:to:) in dispatchWillBegin.
        """)
    }
    values.withLock { $0.bound.append(value) }
  }

  /// Releases what is the program's, before the scope is kept for reuse.
  ///
  /// The caller must have the only reference.
  final func reset() {
    _ = values.exchange(Values())
    // A lane's key may be the last reference to an object of the program.
    mode = .sync
    waitedForSaving.store(false, ordering: .relaxed)
  }
}
