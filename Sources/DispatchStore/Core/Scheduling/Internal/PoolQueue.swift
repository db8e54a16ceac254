import Foundation
import Synchronization

/// A queue that notifies its pools when it is suspended or widened; they read both without its lock.
final class PoolQueue: OperationQueue, @unchecked Sendable {
  // because its superclass is, and what it adds is locked or atomic
  /// The pools on it, until the last one's dispatcher goes.
  private let shared = Locked<SharedQueue?>(nil)
  private let isStopped = Atomic(false)
  private let knownWidth = Atomic(OperationQueue.defaultMaxConcurrentOperationCount)

  /// Whether it is suspended, without its lock.
  var isHeldBack: Bool { isStopped.load(ordering: .acquiring) }

  func attach(_ shared: SharedQueue?) {
    self.shared.withLock { $0 = shared }
  }

  private var pools: [ConcurrentPool] { shared.withLock { $0 }?.pools ?? [] }

  /// Its width, without its lock.
  var width: Int { knownWidth.load(ordering: .relaxed) }

  override var maxConcurrentOperationCount: Int {
    get { super.maxConcurrentOperationCount }
    set {
      super.maxConcurrentOperationCount = newValue
      copyProperties()
      for pool in pools { pool.queueWasWidened() }
    }
  }

  override var isSuspended: Bool {
    get { super.isSuspended }
    set {
      super.isSuspended = newValue
      copyProperties()
      if newValue { for pool in pools { pool.queueWasSuspended() } }
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
