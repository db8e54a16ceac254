import Dispatch
import Foundation
import Synchronization

/// Waits some microseconds for what is about to happen, rather than to be woken for it.
///
/// Waking a thread costs as much as many dispatches. One thread of the process at most waits so, for at
/// most twenty-five microseconds, and none on a machine with one core. Where that was mostly in vain lately,
/// only one wait in some tries it.
enum ShortWait {
  private static let isTaken = Atomic(false)
  private static let isOfUse = ProcessInfo.processInfo.activeProcessorCount > 1
  private static let nanoseconds: UInt64 = 25_000
  /// Rises where a wait was worth it, and falls where it was not.
  private static let credit = Atomic<Int>(4)
  private static let attempts = Atomic<UInt>(0)
  private static let highest = 8
  /// Of so many waits one is tried where they were in vain.
  private static let rarity: UInt = 16

  /// Whether the condition came true.
  static func `for`(_ condition: () -> Bool) -> Bool {
    guard isOfUse, isWorthATry, !isTaken.exchange(true, ordering: .acquiring) else { return false }
    defer { isTaken.store(false, ordering: .releasing) }
    let end = DispatchTime.now().uptimeNanoseconds + nanoseconds
    repeat {
      for _ in 0..<16 where condition() {
        credit.store(min(highest, credit.load(ordering: .relaxed) + 1), ordering: .relaxed)
        return true
      }
    } while DispatchTime.now().uptimeNanoseconds < end
    credit.store(max(0, credit.load(ordering: .relaxed) - 1), ordering: .relaxed)
    return false
  }

  private static var isWorthATry: Bool {
    credit.load(ordering: .relaxed) > 0
      || attempts.wrappingAdd(1, ordering: .relaxed).newValue % rarity == 0
  }
}
