import Synchronization

/// A caller's wait for a result that is about to come, on a thread that stays awake.
///
/// Where both threads stay awake, a result comes back in one or two microseconds; where none does, waking
/// one may take as long as many dispatches. One thread of the process at most waits so, and none on a
/// machine with one core. Where results did not come promptly lately, only one wait in some tries it: long
/// enough for the other thread to be woken, which then stays awake for the next one.
enum ShortWait {
  private static let isTaken = Atomic(false)
  /// A result within so many nanoseconds is worth the wait.
  private static let prompt: UInt64 = 8_000
  /// How much longer it waits.
  private static let rest: UInt64 = 17_000
  /// The same for a trial.
  private static let restOfTrial: UInt64 = 52_000
  /// Rises where results come promptly, and falls where they do not.
  private static let credit = Atomic<Int>(4)
  private static let attempts = Atomic<UInt>(0)
  private static let highest = 8
  /// Of so many waits without credit one is a trial.
  private static let rarity: UInt = 16

  /// Whether the condition came true.
  static func `for`(_ condition: () -> Bool) -> Bool {
    guard SpinWait.isUseful, ThreadState.current.simulated == nil else { return false }
    let present = credit.load(ordering: .relaxed)
    guard
      present > 0 || attempts.wrappingAdd(1, ordering: .relaxed).newValue % rarity == 0,
      !isTaken.exchange(true, ordering: .acquiring)
    else { return false }
    defer { isTaken.store(false, ordering: .releasing) }
    if SpinWait.spin(nanoseconds: prompt, until: condition) {
      credit.store(min(highest, present + 2), ordering: .relaxed)
      return true
    }
    let hasComeTrue = SpinWait.spin(
      nanoseconds: present > 0 ? rest : restOfTrial, until: condition)
    // After a successful trial, the next wait shows whether the woken thread stays awake.
    credit.store(
      present == 0 && hasComeTrue ? 1 : max(0, present - 1), ordering: .relaxed)
    return hasComeTrue
  }
}
