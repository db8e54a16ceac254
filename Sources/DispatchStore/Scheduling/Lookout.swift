import Dispatch
import Foundation
import Synchronization

/// Where a drainer that has nothing to do looks out for work, for some microseconds.
///
/// Waking a sleeping queue costs more than that. One thread of the process at most does it, and none on
/// a machine with one core.
final class Lookout: Sendable {
  private let isTold = Atomic(false)

  private static let isManned = Atomic(false)
  static let isOfUse = ProcessInfo.processInfo.activeProcessorCount > 1
  private static let nanoseconds: UInt64 = 20_000
  /// A lane that runs empty is left sooner, so that others have their turn.
  static let ofLanes: UInt64 = 4_000

  /// Whether nobody else looks out.
  func begin() -> Bool {
    guard Self.isOfUse, !Self.isManned.exchange(true, ordering: .acquiring) else { return false }
    isTold.store(false, ordering: .relaxed)
    return true
  }

  func end() {
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
    let end = DispatchTime.now().uptimeNanoseconds + nanoseconds
    repeat {
      if condition() { return true }
    } while DispatchTime.now().uptimeNanoseconds < end
    return false
  }
}
