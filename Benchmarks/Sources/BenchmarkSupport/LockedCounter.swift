private import DispatchStore
private import Foundation

/// The floor of all that changes a model: a lock, and the reduction as a reducer's virtual method.
///
/// The model is behind a pointer: a class's property would be watched for overlapping accesses, which
/// costs as much again as the lock.
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

  // Unseen, so that the call through the reducer stays one.
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
  /// Never inlined: a loop that had looked up the method and the model once for all actions would be
  /// no store.
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
