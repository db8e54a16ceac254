/// The jobs of a concurrent pool that start actions.
///
/// Threads push to several shards in turn, and workers take from them in turn, so that no lock is shared
/// by all. In a shard, lanes have a line of their own, and every other take looks there first: neither
/// starves the other. No order is promised between actions.
final class StartInbox: Sendable {
  enum Start {
    case dispatch(Dispatch)
    case lane(Lane)
    /// Starts an action whose dispatch has started.
    case step(@Sendable () -> Void)
  }

  private struct Shard {
    private var dispatches = DispatchFIFO()
    private var lanes = FIFO<Lane>()
    private var steps = FIFO<@Sendable () -> Void>()
    private var isLanesTurn = false

    var isEmpty: Bool { dispatches.isEmpty && lanes.isEmpty && steps.isEmpty }

    mutating func push(_ start: Start) {
      switch start {
      case .dispatch(let dispatch): dispatches.append(dispatch)
      case .lane(let lane): lanes.append(lane)
      case .step(let step): steps.append(step)
      }
    }

    mutating func pop() -> Job? {
      // Few, and they started before what is queued.
      if !steps.isEmpty, let step = steps.popFirst() { return .step(step) }
      isLanesTurn.toggle()
      if isLanesTurn, let lane = lanes.popFirst() { return .lane(lane) }
      if let dispatch = dispatches.popFirst() { return .dispatch(dispatch) }
      return lanes.popFirst().map(Job.lane)
    }
  }

  private let shards: [Locked<Shard>]

  /// - Parameter width: How many threads there are to take from it.
  init(for width: Int) {
    let count = min(16, max(1, width))
    shards = (0..<count).map { _ in Locked(Shard()) }
  }

  /// - Parameter width: How many threads may take from it at once: it uses no more shards than that, and
  ///   with one of them a queue of width one keeps the order.
  func push(_ start: Start, width: Int, on thread: ThreadState) {
    thread.turn &+= 1
    let shard = Int(truncatingIfNeeded: thread.turn) % min(width, shards.count)
    shards[shard].withLock { $0.push(start) }
  }

  /// - Parameter pool: Reads its suspension under the lock: what was pushed after a suspension stays.
  func pop(on thread: ThreadState, for pool: ConcurrentPool) -> Job? {
    for _ in shards.indices {
      thread.turn &+= 1
      let shard = Int(truncatingIfNeeded: thread.turn) % shards.count
      if let job = shards[shard].withLock({ pool.holdsStartsBack ? nil : $0.pop() }) { return job }
    }
    return nil
  }

  var isEmpty: Bool {
    shards.allSatisfy { $0.withLock { $0.isEmpty } }
  }
}
