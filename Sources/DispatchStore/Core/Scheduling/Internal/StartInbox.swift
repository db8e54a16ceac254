import Synchronization

/// The jobs of a concurrent pool that start actions.
///
/// Threads push to several shards in turn, and workers take from them in turn, so that no lock is shared by all. In a
/// shard, lanes have a queue of their own, and every other take looks there first: neither starves the other. No
/// order is promised between actions.
final class StartInbox: Sendable {
  private struct Shard {
    private var dispatches = DispatchFIFO()
    private var lanes = FIFO<Lane>()
    /// Steps that start actions whose dispatches have started.
    private var steps = FIFO<@Sendable () -> Void>()
    private var isLanesTurn = false

    mutating func removeEnded() -> (removed: [Dispatch], rest: Int) { dispatches.removeEnded() }

    var isEmpty: Bool { dispatches.isEmpty && lanes.isEmpty && steps.isEmpty }

    mutating func push(_ job: Job) {
      switch job {
      case .dispatch(let dispatch): dispatches.append(dispatch)
      case .lane(let lane): lanes.append(lane)
      case .step(let step): steps.append(step)
      }
    }

    mutating func pop() -> Job? {
      // Steps come first: they are few, and were started before the rest was queued.
      if !steps.isEmpty, let step = steps.popFirst() { return .step(step) }
      isLanesTurn.toggle()
      if isLanesTurn, !lanes.isEmpty, let lane = lanes.popFirst() { return .lane(lane) }
      if let dispatch = dispatches.popFirst() { return .dispatch(dispatch) }
      return lanes.popFirst().map(Job.lane)
    }
  }

  private let shards: [Locked<Shard>]
  /// The number of shards that the last push could choose from.
  private let usedShards = Atomic(1)
  /// The dispatches of other than normal priority; all threads share them.
  private let prioritized = Locked(PriorityInbox())
  /// The number of prioritized dispatches, changed under their lock.
  private let prioritizedCount = Atomic(0)
  private let skipped = Locked(SkippedDispatches())

  /// - Parameter width: The number of threads that may take from the inbox.
  init(for width: Int) {
    let count = min(16, max(1, width))
    shards = (0..<count).map { _ in Locked(Shard()) }
  }

  /// - Parameter width: The number of threads that may take from the inbox at once, which bounds the shards that are
  ///   used. With one shard, a queue of width one keeps the order.
  func push(_ job: Job, width: Int, on thread: ThreadState) {
    if case .dispatch(let dispatch) = job, dispatch.details?.priority != nil {
      return pushPrioritized(dispatch)
    }
    nextShard(of: width, on: thread).withLock { $0.push(job) }
  }

  @inline(__always)
  private func nextShard(of width: Int, on thread: ThreadState) -> Locked<Shard> {
    thread.fields.pointee.turn &+= 1
    let used = min(width, shards.count)
    if usedShards.load(ordering: .relaxed) != used { usedShards.store(used, ordering: .relaxed) }
    return shards[Int(truncatingIfNeeded: thread.fields.pointee.turn) % used]
  }

  @inline(never)
  private func pushPrioritized(_ dispatch: Dispatch) {
    prioritized.withLock { inbox in
      inbox.expect()
      inbox.append(dispatch, keepsPlace: false)
      prioritizedCount.wrappingAdd(1, ordering: .relaxed)
    }
  }

  /// - Parameter pool: The pool, whose suspension is read under the lock: a start that was pushed after a suspension
  ///   stays.
  func pop(on thread: ThreadState, for pool: ConcurrentPool) -> Job? {
    var wasHeldBack: Bool
    repeat {
      // Starts of normal priority come after the others also if the queue is resumed between the two looks.
      wasHeldBack = pool.holdsStartsBack
      if hasPrioritized, let job = popPrioritized(for: pool, isNormalWaiting: hasNormal) {
        return job
      }
      if !wasHeldBack, let job = popNormal(on: thread, for: pool) { return job }
      // Other threads may have taken the starts that were to go before these, or the queue was resumed meanwhile. If starts
      // of normal priority wait, they keep the count of their turns.
    } while (wasHeldBack || hasPrioritized) && !pool.holdsStartsBack
    return nil
  }

  private func popPrioritized(for pool: ConcurrentPool, isNormalWaiting: Bool) -> Job? {
    prioritized.withLock { inbox in
      guard !pool.holdsStartsBack,
        let dispatch = inbox.popFirst(isNormalWaiting: isNormalWaiting)
      else { return nil }
      prioritizedCount.wrappingSubtract(1, ordering: .relaxed)
      return .dispatch(dispatch)
    }
  }

  private func popNormal(on thread: ThreadState, for pool: ConcurrentPool) -> Job? {
    thread.fields.pointee.turn &+= 1
    let turn = Int(truncatingIfNeeded: thread.fields.pointee.turn)
    // Takes in turn among the used shards, and now and then among all: some starts may be left from a wider queue.
    let first =
      turn % 16 == 0 ? turn / 16 % shards.count : turn % usedShards.load(ordering: .relaxed)
    for offset in shards.indices {
      let job = shards[(first + offset) % shards.count].withLock { shard in
        shard.isEmpty || pool.holdsStartsBack ? nil : shard.pop()
      }
      if let job { return job }
    }
    return nil
  }

  /// Notes that a waiting dispatch has ended, and removes the ended ones if they are many.
  func noteSkipped() {
    guard skipped.withLock({ $0.note() }) else { return }
    var (removed, rest) = prioritized.withLock { inbox in
      let (removed, rest) = inbox.removeEnded()
      prioritizedCount.store(rest, ordering: .relaxed)
      return (removed, rest)
    }
    for shard in shards {
      let (ended, left) = shard.withLock { $0.removeEnded() }
      removed += ended
      rest += left
    }
    skipped.withLock { $0.removed(leaving: rest) }
    withExtendedLifetime(removed) {}
  }

  private var hasPrioritized: Bool { prioritizedCount.load(ordering: .relaxed) > 0 }
  private var hasNormal: Bool { !shards.allSatisfy { $0.withLock { $0.isEmpty } } }

  var isEmpty: Bool { !hasPrioritized && !hasNormal }
}
