import Foundation
import Synchronization

/// A queue that tells its pool when it is suspended, and what it asks for at each action.
final class PoolQueue: OperationQueue, @unchecked Sendable {
  // because `pool` is set before the queue is handed out
  weak var pool: ConcurrentPool?
  private let isStopped = Atomic(false)
  private let knownWidth = Atomic(OperationQueue.defaultMaxConcurrentOperationCount)

  /// Whether it is suspended, without its lock.
  var isHeldBack: Bool { isStopped.load(ordering: .acquiring) }

  /// Its width, without its lock.
  var width: Int { knownWidth.load(ordering: .relaxed) }

  override var maxConcurrentOperationCount: Int {
    get { super.maxConcurrentOperationCount }
    set {
      knownWidth.store(newValue, ordering: .relaxed)
      super.maxConcurrentOperationCount = newValue
      pool?.queueWasWidened()
    }
  }

  override var isSuspended: Bool {
    get { super.isSuspended }
    set {
      isStopped.store(newValue, ordering: .releasing)
      super.isSuspended = newValue
      if newValue { pool?.queueWasSuspended() }
    }
  }
}

extension OperationQueue {
  var dispatchQoS: DispatchQoS {
    switch qualityOfService {
    case .userInteractive: .userInteractive
    case .userInitiated: .userInitiated
    case .utility: .utility
    case .background: .background
    default: .default
    }
  }
}
