/// The named lanes that are not idle, in shards: no lock is shared by all.
final class LaneTable: Sendable {
  /// A power of two.
  private static let shardCount = 32
  private let shards = (0..<shardCount).map { _ in LaneShard() }

  var count: Int { shards.reduce(0) { $0 + $1.count } }

  /// The lane of this name, made where there is none.
  ///
  /// It may retire before the caller has pushed a dispatch to it; the caller then looks it up again.
  func lane(_ key: TypedKey, pool: ConcurrentPool) -> Lane {
    shards[key.hash & (Self.shardCount - 1)].lane(key, pool: pool)
  }
}
