import Synchronization

/// The version up to which the commits of a store are saved.
final class SavedVersion: Sendable {
  private let version = Atomic<UInt64>(0)
  /// The version with which the store was registered.
  private let first: UInt64
  /// The one of the registration before, if observers may still be notified of commits from before this one.
  private let former: SavedVersion?

  init(from first: UInt64 = 0, after former: SavedVersion? = nil) {
    (self.first, self.former) = (first, former)
  }

  var now: UInt64 { version.load(ordering: .acquiring) }

  /// Whether a commit is saved, once all is that was committed before.
  func contains(_ version: UInt64) -> Bool {
    if version < first, let former { return former.contains(version) }
    return version <= now
  }

  func rise(to version: UInt64) { self.version.max(version, ordering: .releasing) }
}
