import Synchronization

/// A dispatch as its hooks see it, with the values that they keep for it.
///
/// Allocates nothing before the first value.
class DispatchScope: @unchecked Sendable {
  // because the values are an atomic and locks, and the rest changes only while the library has the only reference;
  // each subclass gives its own reason
  @exclusivity(unchecked) final var id = DispatchID(rawValue: 0)
  @exclusivity(unchecked) final var parent: DispatchID?
  @exclusivity(unchecked) final var mode = Dispatcher.Mode.sync
  @exclusivity(unchecked) final var callSite = CallSite(fileID: "", line: 0)
  /// Whether the `dispatchWillBegin` hooks run.
  @exclusivity(unchecked) private var isBeginning = false

  var dispatcher: Dispatcher { fatalError("DispatchScope is abstract.") }
  /// The actions as dispatched.
  var actions: ShortList<any ActionType> { fatalError("DispatchScope is abstract.") }
  var isSequence: Bool { fatalError("DispatchScope is abstract.") }

  /// Address of the owned `Values`, or 0 before they are made.
  ///
  /// Not an `AtomicLazyReference`, because reading one calls unspecialised code: 500 instructions.
  private let address = Atomic<UInt>(0)

  private final class Values: Sendable {
    let bySlot = Locked<[Slot: any Sendable]>([:])
    let bound = Locked<[CapturedTaskLocal]>([])
  }

  private struct Slot: Hashable {
    let key: ObjectIdentifier
    /// The store, or nil for a value of all stores.
    let storeIndex: Int?
  }

  subscript<Key: DispatchKey>(key: Key.Type, storeIndex: Int?) -> Key.Value? {
    get {
      let slot = Slot(key: ObjectIdentifier(key), storeIndex: storeIndex)
      return values?.bySlot.withLock { $0[slot] } as? Key.Value
    }
    set {
      let slot = Slot(key: ObjectIdentifier(key), storeIndex: storeIndex)
      // Released outside the lock, because a deinit may run user code.
      let former = makeValues().bySlot.withLock { values in
        defer { values[slot] = newValue }
        return values[slot]
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
    return values?.bound.withLock { bound in
      defer { bound = [] }
      return bound
    } ?? []
  }

  final func bind(_ value: CapturedTaskLocal, at callSite: CallSite) {
    guard isBeginning else {
      stopProgram(
        """
        A middleware bound a task-local value after the dispatch (\(callSite)) had begun, so that some of its code \
        would not see it. Call bind(_:to:) in dispatchWillBegin.
        """)
    }
    makeValues().bound.withLock { $0.append(value) }
  }

  // MARK: Storage

  private var values: Values? {
    let bits = address.load(ordering: .acquiring)
    return bits == 0 ? nil : Self.reference(at: bits).takeUnretainedValue()
  }

  private func makeValues() -> Values {
    if let values { return values }
    let made = Unmanaged.passRetained(Values())
    let (isFirst, present) = address.compareExchange(
      expected: 0, desired: UInt(bitPattern: made.toOpaque()), ordering: .acquiringAndReleasing)
    if isFirst { return made.takeUnretainedValue() }
    // Another thread was first.
    made.release()
    return Self.reference(at: present).takeUnretainedValue()
  }

  private static func reference(at bits: UInt) -> Unmanaged<Values> {
    .fromOpaque(UnsafeRawPointer(bitPattern: bits).unsafelyUnwrapped)
  }

  /// Releases what is the program's, before the scope is kept for reuse.
  ///
  /// The caller must have the only reference.
  final func reset() {
    removeValues()
    // A lane's key may be the last reference to an object of the program.
    mode = .sync
  }

  private func removeValues() {
    let bits = address.load(ordering: .relaxed)
    guard bits != 0 else { return }
    address.store(0, ordering: .relaxed)
    Self.reference(at: bits).release()
  }

  deinit {
    removeValues()
  }
}
