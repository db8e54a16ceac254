import Synchronization

/// The values that hooks keep for one transaction.
///
/// Allocates nothing before the first value.
class TransactionScope: @unchecked Sendable {
  // because its storage is an atomic and a lock; each subclass gives its own reason
  /// Address of the owned `Values`, or 0 before they are made.
  ///
  /// Not an `AtomicLazyReference`, because reading one calls unspecialised code: 500 instructions.
  private let address = Atomic<UInt>(0)

  private final class Values: Sendable {
    let bySlot = Locked<[Slot: any Sendable]>([:])
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

  /// Releases the values.
  ///
  /// The caller must have the only reference.
  final func removeValues() {
    let bits = address.load(ordering: .relaxed)
    guard bits != 0 else { return }
    address.store(0, ordering: .relaxed)
    Self.reference(at: bits).release()
  }

  deinit {
    removeValues()
  }
}
