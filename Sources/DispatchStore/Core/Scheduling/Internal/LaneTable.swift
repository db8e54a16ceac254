/// The named lanes that are not idle, in shards, so that no lock is shared by all threads.
final class LaneTable: Sendable {
  /// A power of two.
  private static let shardCount = 32
  private let shards = (0..<shardCount).map { _ in LaneShard() }

  var count: Int { shards.reduce(0) { $0 + $1.count } }

  /// Returns the lane of this name, and makes it if there is none.
  ///
  /// The lane may retire before the caller has pushed a dispatch to it; the caller then looks it up again.
  func lane(_ key: TypedKey, pool: ConcurrentPool) -> Lane {
    shards[key.hash & (Self.shardCount - 1)].lane(key, pool: pool)
  }
}
