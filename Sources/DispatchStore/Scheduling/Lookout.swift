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
  private static let isOfUse = ProcessInfo.processInfo.activeProcessorCount > 1
  private static let nanoseconds: UInt64 = 20_000

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
    let end = DispatchTime.now().uptimeNanoseconds + Self.nanoseconds
    repeat {
      for _ in 0..<64 where isTold.load(ordering: .acquiring) { return }
    } while DispatchTime.now().uptimeNanoseconds < end
  }
}
