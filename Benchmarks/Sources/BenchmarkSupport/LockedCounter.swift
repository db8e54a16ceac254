private import DispatchStore
private import Foundation

/// The floor of all that changes a model: a lock, and the reduction as a reducer's virtual method.
///
/// The model is behind a pointer, because checks for overlapping accesses to a class's property would cost as
/// much again as the lock.
public final class LockedCounter: @unchecked Sendable {  // because `mutex` guards `counter`
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let counter = UnsafeMutablePointer<Counter>.allocate(capacity: 1)
  private let reducer: Reducer<Counter, Add>

  /// Makes a counter.
  public init(gate: BurstGate? = nil) {
    counter.initialize(to: Counter(gate: gate))
    reducer = Self.reducer()
    pthread_mutex_init(mutex, nil)
  }

  // Not inlined, so that the call of the reducer stays virtual.
  @inline(never)
  private static func reducer() -> Reducer<Counter, Add> { PlainReducer() }

  deinit {
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
    counter.deinitialize(count: 1)
    counter.deallocate()
  }

  /// Changes the counter for an action.
  ///
  /// Never inlined, because a loop that looks up the method and the model once for all actions would not
  /// compare with a store.
  @inline(never)
  public func reduce(_ action: Add) {
    pthread_mutex_lock(mutex)
    do {
      try reducer.reduce(into: &counter.pointee, action: action)
    } catch {
      assertionFailure("A plain reduction threw \(error).")
    }
    pthread_mutex_unlock(mutex)
  }
}
