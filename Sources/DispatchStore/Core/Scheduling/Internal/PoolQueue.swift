import Foundation
import Synchronization

/// A queue that notifies its pools when it is suspended or widened; they read both properties without its lock.
final class PoolQueue: OperationQueue, @unchecked Sendable {
  // because its superclass is, and the properties that it adds are locked or atomic
  /// The pools on the queue, until the last one's dispatcher goes.
  private let shared = Locked<SharedQueue?>(nil)
  private let isStopped = Atomic(false)
  private let knownWidth = Atomic(OperationQueue.defaultMaxConcurrentOperationCount)

  /// Whether the queue is suspended, read without its lock.
  var isHeldBack: Bool { isStopped.load(ordering: .acquiring) }

  func attach(_ shared: SharedQueue?) {
    self.shared.withLock { $0 = shared }
  }

  private var pools: [ConcurrentPool] { shared.withLock { $0 }?.pools ?? [] }

  /// The queue's width, read without its lock.
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

  /// Makes both copies equal to the queue's properties.
  ///
  /// Several threads may set the copies at once. Each compares after it has written. So the last thread to write a
  /// copy has written the queue's value, or a thread that changes the queue later does.
  private func copyProperties() {
    repeat {
      isStopped.store(super.isSuspended, ordering: .sequentiallyConsistent)
      knownWidth.store(super.maxConcurrentOperationCount, ordering: .sequentiallyConsistent)
    } while isHeldBack != super.isSuspended || width != super.maxConcurrentOperationCount
  }
}
