/// A turn to deliver commits that a thread holds, and that other threads may wait for.
protocol DeliveryTurn: AnyObject {
  /// The notifier is about to block: threads that wait for the turn must leave their commits to it.
  func notifierBeginsToWait()

  /// The notifier runs again.
  func notifierHasWaited()
}

/// The time in which a thread blocks inside the library.
///
/// The thread lends its place in the pool, and threads that wait for one of its delivery turns leave their
/// commits to it, so that what it waits for can't wait for it.
struct BlockingRegion {
  private let pool: ConcurrentPool?
  private let turns: [any DeliveryTurn]

  init(on thread: ThreadState) {
    pool = thread.pool
    turns = thread.turns
    // Before the place is lent: this may run the user's code, which takes up the thread's place.
    if !isPlanted(.turnKept) { for turn in turns { turn.notifierBeginsToWait() } }
    thread.resumeDeliveredOwners()
    pool?.beginWait()
  }

  func end() {
    if !isPlanted(.turnKept) { for turn in turns { turn.notifierHasWaited() } }
    pool?.endWait()
  }
}
