/// The bounds of what waits to be saved, and what happens to a dispatch above them.
///
/// They matter while the database is locked or full: commits then stay in memory.
public struct PersistenceLimits: Sendable {
  let commits: UInt64
  let bytes: Int
  let rejects: Bool

  /// With no room for anything, nothing would ever start: there is room for one commit, and for one byte.
  private init(_ commits: Int, _ bytes: Int, rejects: Bool) {
    (self.commits, self.bytes) = (UInt64(max(commits, 1)), max(bytes, 1))
    self.rejects = rejects
  }

  /// Holds dispatches to persistent stores back while too much is unsaved; a `.sync` caller is blocked.
  ///
  /// All that were held back start once less is unsaved. Together they may exceed the bounds again: bound the dispatches
  /// in flight, too, with `DispatchLimits`.
  ///
  /// - Parameters:
  ///   - commits: The number of commits.
  ///   - bytes: The size of their rows, estimated from those that were written last.
  public static func suspending(
    commits: Int = 100_000, bytes: Int = 256 << 20
  ) -> PersistenceLimits {
    PersistenceLimits(commits, bytes, rejects: false)
  }

  /// Fails dispatches to persistent stores while too much is unsaved, with the code `limitExceeded`.
  ///
  /// Compensations, actions that durable effects return, scheduled dispatches and runs of repeating schedules are held
  /// back instead: failing them would leave work half done.
  ///
  /// - Parameters:
  ///   - commits: The number of commits.
  ///   - bytes: The size of their rows, estimated from those that were written last.
  public static func rejecting(
    commits: Int = 100_000, bytes: Int = 256 << 20
  ) -> PersistenceLimits {
    PersistenceLimits(commits, bytes, rejects: true)
  }
}
