/// A watcher with a table of the dispatches in flight.
protocol InFlightSource: DispatchWatcher {
  var table: InFlightTable { get }
}

/// The traces of dispatches in flight, in several shards.
final class InFlightTable: Sendable {
  private static let shardCount = 16
  private let shards = (0..<shardCount).map { _ in Locked<[DispatchID: DispatchTrace]>([:]) }

  var count: Int { shards.reduce(0) { $0 + $1.withLock(\.count) } }

  /// The traces, in the order of their identifiers.
  var all: [DispatchTrace] {
    shards.flatMap { $0.withLock { Array($0.values) } }.sorted { $0.id < $1.id }
  }

  func insert(_ trace: DispatchTrace) {
    shard(of: trace.id).withLock { $0[trace.id] = trace }
  }

  func remove(_ trace: DispatchTrace) {
    // The objects of the entry are released outside the lock.
    let removed = shard(of: trace.id).withLock { $0.removeValue(forKey: trace.id) }
    withExtendedLifetime(removed) {}
  }

  private func shard(of id: DispatchID) -> Locked<[DispatchID: DispatchTrace]> {
    shards[Int(truncatingIfNeeded: id.rawValue) & (Self.shardCount - 1)]
  }
}

extension InFlightTable: InFlightSource {
  var table: InFlightTable { self }

  func watch(_ trace: DispatchTrace, of dispatcher: Dispatcher) { insert(trace) }

  func forget(_ trace: DispatchTrace) { remove(trace) }
}
