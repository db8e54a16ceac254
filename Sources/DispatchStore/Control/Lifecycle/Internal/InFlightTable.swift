/// A watchdog, as the table of dispatches in flight knows it.
protocol InFlightWatchdog: AnyObject, Sendable {
  /// Called when it is set, and when the table has another dispatch, with no lock held.
  func arm(for dispatcher: Dispatcher)

  /// Ends the reports.
  func cancel()
}

/// The traces of dispatches in flight, in several shards.
final class InFlightTable: DispatchWatcher {
  /// Who needs the table.
  struct Users: Sendable {
    /// Whether the program does.
    var isTracking = false
    var watchdog: (any InFlightWatchdog)?

    var isEmpty: Bool { !isTracking && watchdog == nil }
  }

  /// Constant, so that a dispatch acquires no lock to find the watchdog.
  let users: Users
  private let shards: [Locked<[DispatchID: InFlightTrace]>]
  private static let shardCount = 16

  /// Makes a table that has its entries in common with the former one, whose dispatches leave it there.
  init(for users: Users, after former: InFlightTable?) {
    self.users = users
    shards = former?.shards ?? (0..<Self.shardCount).map { _ in Locked([:]) }
  }

  var count: Int { shards.reduce(0) { $0 + $1.withLock(\.count) } }

  /// The traces, in the order of their identifiers.
  var all: [InFlightTrace] {
    shards.flatMap { $0.withLock { Array($0.values) } }.sorted { $0.id < $1.id }
  }

  func watch(
    _ dispatch: Dispatch, _ info: DispatchInfo, caller: Dispatch?, at time: Int64
  ) -> any DispatchTrace {
    let trace = InFlightTrace(dispatch, info, caller: caller, at: time)
    add(trace, of: info.dispatcher)
    return trace
  }

  func add(_ trace: InFlightTrace, of dispatcher: Dispatcher) {
    shard(of: trace.id).withLock { $0[trace.id] = trace }
    users.watchdog?.arm(for: dispatcher)
  }

  func forget(_ id: DispatchID) {
    shard(of: id).withLockReleasing { $0.removeAndShrink(id) }
  }

  private func shard(of id: DispatchID) -> Locked<[DispatchID: InFlightTrace]> {
    shards[Int(truncatingIfNeeded: id.rawValue) & (Self.shardCount - 1)]
  }
}
