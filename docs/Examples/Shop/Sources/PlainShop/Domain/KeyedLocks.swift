/// First-in, first-out locks by key.
///
/// A key that nobody holds costs no memory.
struct KeyedLocks<Key: Hashable> {
  typealias Waiter = CheckedContinuation<Void, Never>

  private var waiters: [Key: [Waiter]] = [:]  // of keys that are held

  /// Takes the key if it is free.
  mutating func take(_ key: Key) -> Bool {
    guard waiters[key] == nil else { return false }
    waiters[key] = []
    return true
  }

  /// Lets a caller whom `take` has refused wait for its turn.
  mutating func wait(for key: Key, _ waiter: Waiter) { waiters[key]?.append(waiter) }

  /// Frees the key, or hands it to the waiter that this returns.
  mutating func release(_ key: Key) -> Waiter? {
    guard waiters[key]?.isEmpty == false else {
      waiters[key] = nil
      return nil
    }
    return waiters[key]?.removeFirst()
  }
}
