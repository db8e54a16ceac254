import Dispatch
import Foundation
import Synchronization

/// Where a drainer that has nothing to do looks out for work, for some microseconds.
///
/// Waking a sleeping queue costs more than that. One thread of the process at most does it, and none on
/// a machine with one core.
final class SpinWait: Sendable {
  private let isTold = Atomic(false)

  private static let isManned = Atomic(false)
  /// The same for a spinWait in a simulation, of which no other process knows.
  private let isMannedHere = Atomic(false)
  static let isOfUse = ProcessInfo.processInfo.activeProcessorCount > 1
  private static let nanoseconds: UInt64 = 20_000
  /// A lane that runs empty is left sooner, so that others have their turn.
  static let ofLanes: UInt64 = 4_000

  /// Whether nobody else looks out.
  func begin(on thread: ThreadState) -> Bool {
    if thread.simulated != nil {
      isTold.store(false, ordering: .relaxed)
      return !isMannedHere.exchange(true, ordering: .acquiring)
    }
    guard Self.isOfUse, !Self.isManned.exchange(true, ordering: .acquiring) else { return false }
    isTold.store(false, ordering: .relaxed)
    return true
  }

  func end() {
    guard !isMannedHere.exchange(false, ordering: .releasing) else { return }
    Self.isManned.store(false, ordering: .releasing)
  }

  func tell() {
    isTold.store(true, ordering: .releasing)
  }

  func waitToBeTold() {
    _ = Self.wait(nanoseconds: Self.nanoseconds) { isTold.load(ordering: .acquiring) }
  }

  /// Whether the condition came true in time.
  static func wait(nanoseconds: UInt64, for condition: () -> Bool) -> Bool {
    if let simulated = ThreadState.current.simulated { return simulated.lookOut(for: condition) }
    let end = DispatchTime.now().uptimeNanoseconds + nanoseconds
    repeat {
      if condition() { return true }
    } while DispatchTime.now().uptimeNanoseconds < end
    return false
  }
}
