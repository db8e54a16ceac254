import Foundation
import Synchronization

/// A queue that notifies its pool when it is suspended or widened; the pool reads both without its lock.
final class PoolQueue: OperationQueue, @unchecked Sendable {
  // because its superclass is, and what it adds is locked or atomic
  /// Until its dispatcher goes; not weak, which would make each retain of the pool more expensive.
  private let pool = Locked<ConcurrentPool?>(nil)
  private let isStopped = Atomic(false)
  private let knownWidth = Atomic(OperationQueue.defaultMaxConcurrentOperationCount)

  /// Whether it is suspended, without its lock.
  var isHeldBack: Bool { isStopped.load(ordering: .acquiring) }

  func attach(_ pool: ConcurrentPool?) {
    let former = self.pool.withLock { present in
      defer { present = pool }
      return present
    }
    withExtendedLifetime(former) {}
  }

  /// Its width, without its lock.
  var width: Int { knownWidth.load(ordering: .relaxed) }

  override var maxConcurrentOperationCount: Int {
    get { super.maxConcurrentOperationCount }
    set {
      super.maxConcurrentOperationCount = newValue
      copyProperties()
      pool.withLock { $0 }?.queueWasWidened()
    }
  }

  override var isSuspended: Bool {
    get { super.isSuspended }
    set {
      super.isSuspended = newValue
      copyProperties()
      if newValue { pool.withLock { $0 }?.queueWasSuspended() }
    }
  }

  /// Makes both copies equal to what the queue has.
  ///
  /// Several threads may set them at once: each compares after it has written, so that the last one to
  /// write a copy has written what the queue has, or a thread that changes the queue later does.
  private func copyProperties() {
    repeat {
      isStopped.store(super.isSuspended, ordering: .sequentiallyConsistent)
      knownWidth.store(super.maxConcurrentOperationCount, ordering: .sequentiallyConsistent)
    } while isHeldBack != super.isSuspended || width != super.maxConcurrentOperationCount
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
