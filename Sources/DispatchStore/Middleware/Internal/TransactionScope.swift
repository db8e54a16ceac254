import Synchronization

/// What hooks keep for one transaction; nothing is made before they keep something.
class TransactionScope: @unchecked Sendable {
  // because what it stores is atomic, and locked behind that; subclasses say why they are
  private let values = AtomicLazyReference<Values>()

  private final class Values: Sendable {
    let bySlot = Locked<[Slot: any Sendable]>([:])
  }

  private struct Slot: Hashable {
    let key: ObjectIdentifier
    /// Nil for all stores.
    let storeIndex: Int?
  }

  subscript<Key: TransactionKey>(key: Key.Type, storeIndex: Int?) -> Key.Value? {
    get {
      let slot = Slot(key: ObjectIdentifier(key), storeIndex: storeIndex)
      return values.load()?.bySlot.withLock { $0[slot] } as? Key.Value
    }
    set {
      let slot = Slot(key: ObjectIdentifier(key), storeIndex: storeIndex)
      let values = values.load() ?? values.storeIfNil(Values())
      // Released outside the lock: it may run the program's code.
      let former = values.bySlot.withLock { values in
        defer { values[slot] = newValue }
        return values[slot]
      }
      withExtendedLifetime(former) {}
    }
  }
}
