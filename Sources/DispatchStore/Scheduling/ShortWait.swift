import Synchronization

/// Waits some microseconds for what is about to happen, rather than to be woken for it.
///
/// Waking a thread costs as much as many dispatches. One thread of the process at most waits so, for at
/// most twenty-five microseconds, and none on a machine with one core. Where that was mostly in vain lately,
/// only one wait in some tries it.
enum ShortWait {
  private static let isTaken = Atomic(false)
  private static let nanoseconds: UInt64 = 25_000
  /// Rises where a wait was worth it, and falls where it was not.
  private static let credit = Atomic<Int>(4)
  private static let attempts = Atomic<UInt>(0)
  private static let highest = 8
  /// Of so many waits one is tried where they were in vain.
  private static let rarity: UInt = 16

  /// Whether the condition came true.
  static func `for`(_ condition: () -> Bool) -> Bool {
    guard Lookout.isOfUse, ThreadState.current.simulated == nil, isWorthATry,
      !isTaken.exchange(true, ordering: .acquiring)
    else { return false }
    defer { isTaken.store(false, ordering: .releasing) }
    let hasComeTrue = Lookout.wait(nanoseconds: nanoseconds, for: condition)
    let present = credit.load(ordering: .relaxed)
    credit.store(hasComeTrue ? min(highest, present + 1) : max(0, present - 1), ordering: .relaxed)
    return hasComeTrue
  }

  private static var isWorthATry: Bool {
    credit.load(ordering: .relaxed) > 0
      || attempts.wrappingAdd(1, ordering: .relaxed).newValue % rarity == 0
  }
}
