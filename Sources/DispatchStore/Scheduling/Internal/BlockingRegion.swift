/// A thread that blocks inside the library: what it holds meanwhile, it holds up nobody with.
///
/// Its place in the pool is lent, and threads that wait for its turn to tell leave their changes to it.
struct BlockingRegion {
  private let pool: ConcurrentPool?
  private let turns: [StoreStorage]

  init(on thread: ThreadState) {
    pool = thread.pool
    turns = thread.turns
    // What follows here is code of the user's, which has this thread's place in the pool until then.
    if !isPlanted(.turnKept) { for turn in turns { turn.notifierBeginsToWait() } }
    thread.resumeDeliveredOwners()
    pool?.beginWait()
  }

  func end() {
    if !isPlanted(.turnKept) { for turn in turns { turn.notifierHasWaited() } }
    pool?.endWait()
  }
}
