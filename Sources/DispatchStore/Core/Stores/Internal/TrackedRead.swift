/// A read of a store, as the argument that a key path captures.
///
/// `ObservationRegistrar` can't say whether the calling code is tracked. But it hashes the key path of an access only
/// if the code is tracked. When the tracking is registered, after the read, it hashes it again, under its lock. A key
/// path's hash includes that of its arguments, so `hash(into:)` is called both times.
final class TrackedRead: Hashable, Sendable {
  /// The progress of the store that was read, or nil for the read that only detects tracking.
  private let progress: ReadProgress?
  /// The lowest version that the code can have seen.
  private let version: UInt64
  /// The notification of tracked code in which the code reads, on its thread.
  ///
  /// Zero for none.
  private let notice: UInt64

  private init(_ progress: ReadProgress?, _ version: UInt64, _ notice: UInt64) {
    self.progress = progress
    self.version = version
    self.notice = notice
  }

  /// Returns true for any two reads of a store, so that a change of the store concerns all of them.
  static func == (lhs: TrackedRead, rhs: TrackedRead) -> Bool {
    lhs.progress === rhs.progress
  }

  func hash(into hasher: inout Hasher) {
    hasher.combine(progress == nil)
    let thread = ThreadState.current
    guard let progress else {
      thread.fields.pointee.readIsTracked = true
      return
    }
    // The registrar also hashes the key path when a tracking ends, within a notification: that is no new read.
    if thread.fields.pointee.trackedNotice == notice { progress.check(version) }
  }

  typealias Path = KeyPath<ReadProbe, UInt64> & Sendable

  /// Makes the key path under which such a read is registered.
  ///
  /// Costs some microseconds.
  static func path(
    _ version: UInt64, in notice: UInt64, of progress: ReadProgress
  ) -> any Path {
    path(TrackedRead(progress, version, notice))
  }

  /// The key path that only detects whether reads are tracked.
  static let probe = path(TrackedRead(nil, 0, 0))

  private static func path(_ read: TrackedRead) -> any Path { \ReadProbe[read] }
}
