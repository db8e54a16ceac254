import Dispatch
import Foundation
import Synchronization

/// A drainer's wait for work on a thread that stays awake, for some microseconds.
///
/// Waking a sleeping queue costs more than that. At most one thread of the process spins, and none on a machine with
/// one core.
final class SpinWait: Sendable {
  private let isNotified = Atomic(false)

  private static let isTaken = Atomic(false)
  /// Whether a thread of a simulation spins for this pool; separate, so that simulations do not depend on other threads
  /// of the process.
  private let isTakenInWorld = Atomic(false)
  static let isUseful = ProcessInfo.processInfo.activeProcessorCount > 1
  private static let nanoseconds: UInt64 = 20_000
  /// The spin time for a lane: shorter than the pool's, so that other lanes have their turn.
  static let laneNanoseconds: UInt64 = 4_000

  /// Reserves the place for this thread; returns false if another thread spins.
  func begin(on thread: ThreadState) -> Bool {
    if thread.simulated != nil {
      isNotified.store(false, ordering: .relaxed)
      return !isTakenInWorld.exchange(true, ordering: .acquiring)
    }
    guard Self.isUseful, !Self.isTaken.exchange(true, ordering: .acquiring) else { return false }
    isNotified.store(false, ordering: .relaxed)
    return true
  }

  func end() {
    guard !isTakenInWorld.exchange(false, ordering: .releasing) else { return }
    Self.isTaken.store(false, ordering: .releasing)
  }

  func notify() {
    isNotified.store(true, ordering: .releasing)
  }

  func waitUntilNotified() {
    _ = Self.spin(nanoseconds: Self.nanoseconds) { isNotified.load(ordering: .acquiring) }
  }

  /// Spins until a condition is true; returns whether it was in time.
  static func spin(nanoseconds: UInt64, until condition: () -> Bool) -> Bool {
    if let simulated = ThreadState.current.simulated { return simulated.spin(until: condition) }
    let end = DispatchTime.now().uptimeNanoseconds + nanoseconds
    repeat {
      if condition() { return true }
    } while DispatchTime.now().uptimeNanoseconds < end
    return false
  }
}
