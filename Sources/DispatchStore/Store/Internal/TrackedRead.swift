/// A read of a store, as the argument that a key path captures.
///
/// `ObservationRegistrar` has no function that says whether the calling code is tracked. But it hashes the key path
/// of an access only where that is so; and when the tracking is registered, which is after the read, it hashes it
/// again, under its lock. A key path's hash includes that of its arguments, so this is called both times.
final class TrackedRead: Hashable, Sendable {
  /// Of the store that was read; nil for the one that only finds out whether reads are tracked.
  private let progress: ReadProgress?
  /// The version that the code has seen at least.
  private let version: UInt64
  /// The notification of tracked code in which the code reads, on its thread; zero for none.
  private let notice: UInt64

  private init(_ progress: ReadProgress?, _ version: UInt64, _ notice: UInt64) {
    self.progress = progress
    self.version = version
    self.notice = notice
  }

  /// All reads of a store are equal, so that a change of it concerns them all.
  static func == (lhs: TrackedRead, rhs: TrackedRead) -> Bool {
    lhs.progress === rhs.progress
  }

  func hash(into hasher: inout Hasher) {
    hasher.combine(progress == nil)
    let thread = ThreadState.current
    guard let progress else {
      thread.readIsTracked = true
      return
    }
    // When a tracking ends, within a notification, the registrar hashes the key path once more.
    if thread.trackedNotice == notice { progress.check(version) }
  }

  typealias Path = KeyPath<ReadProbe, UInt64> & Sendable

  /// The key path under which such a read is registered; making it costs some microseconds.
  static func path(
    _ version: UInt64, in notice: UInt64, of progress: ReadProgress
  ) -> any Path {
    path(TrackedRead(progress, version, notice))
  }

  /// The one that only finds out whether reads are tracked.
  static let probe = path(TrackedRead(nil, 0, 0))

  private static func path(_ read: TrackedRead) -> any Path { \ReadProbe[read] }
}
