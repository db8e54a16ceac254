import Synchronization

/// Waits some microseconds for what is about to happen, rather than to be woken for it.
///
/// Where both threads stay awake, a result comes back in one or two microseconds; where none does, it may
/// take as long as many dispatches to wake one. One thread of the process at most waits so, and none on a
/// machine with one core. Where results did not come promptly lately, only one wait in some tries it: long
/// enough for a thread to be woken, which then stays awake for the next one.
enum ShortWait {
  private static let isTaken = Atomic(false)
  /// Sooner than that is worth the wait.
  private static let prompt: UInt64 = 8_000
  /// How long it goes on after that.
  private static let rest: UInt64 = 17_000
  /// The same for one that tries whether it is of use again.
  private static let restOfTrial: UInt64 = 52_000
  /// Rises where results come promptly, and falls where they do not.
  private static let credit = Atomic<Int>(4)
  private static let attempts = Atomic<UInt>(0)
  private static let highest = 8
  /// Of so many waits one is a trial where there is no credit.
  private static let rarity: UInt = 16

  /// Whether the condition came true.
  static func `for`(_ condition: () -> Bool) -> Bool {
    guard SpinWait.isOfUse, ThreadState.current.simulated == nil else { return false }
    let present = credit.load(ordering: .relaxed)
    guard
      present > 0 || attempts.wrappingAdd(1, ordering: .relaxed).newValue % rarity == 0,
      !isTaken.exchange(true, ordering: .acquiring)
    else { return false }
    defer { isTaken.store(false, ordering: .releasing) }
    if SpinWait.wait(nanoseconds: prompt, for: condition) {
      credit.store(min(highest, present + 2), ordering: .relaxed)
      return true
    }
    let hasComeTrue = SpinWait.wait(
      nanoseconds: present > 0 ? rest : restOfTrial, for: condition)
    // After a trial, the next one tells whether the thread that was woken stays awake.
    credit.store(
      present == 0 && hasComeTrue ? 1 : max(0, present - 1), ordering: .relaxed)
    return hasComeTrue
  }
}
