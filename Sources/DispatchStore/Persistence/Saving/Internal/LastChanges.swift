/// The versions at which elements of a dictionary were changed last, without those that are known to be saved.
struct LastChanges<Key: Hashable> {
  private var versions: [Key: UInt64] = [:]
  /// The last version at which every element may have been changed.
  private var all: UInt64
  private let saved: SavedVersion
  /// The number of elements at which saved ones are removed.
  private var bound = Self.leastBound

  private static var leastBound: Int { 256 }

  /// Begins at a version, up to which any element may have been changed.
  init(before version: UInt64, savedIn saved: SavedVersion) {
    (all, self.saved) = (version, saved)
  }

  var count: Int { versions.count }

  func version(of key: Key) -> UInt64 { max(versions[key] ?? 0, all) }

  mutating func note(_ key: Key, _ version: UInt64) {
    versions[key] = version
    guard versions.count > bound else { return }
    let saved = saved.now
    versions = versions.filter { $0.value > saved }
    bound = max(2 * versions.count, Self.leastBound)
  }

  mutating func noteAll(_ version: UInt64) {
    (versions, all, bound) = ([:], version, Self.leastBound)
  }
}
