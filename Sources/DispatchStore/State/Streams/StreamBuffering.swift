/// The buffering of a stream while its consumer lags behind the store.
public enum StreamBuffering: Sendable, Equatable {
  /// Keeps all changes.
  ///
  /// Memory grows with the consumer's lag.
  case unbounded

  /// Keeps the newest changes, up to this number (1 or more), and drops older ones.
  ///
  /// With `newest(1)`, nothing is kept for a whole model: it is read when the consumer takes the change. Deltas are
  /// never dropped: the one that waits becomes the net effect of all commits that the consumer is behind. So memory
  /// is bounded by the number of keys that have changed, and what a later commit has undone is not delivered.
  case newest(Int)

  /// Keeps the oldest changes, up to this number (1 or more), and drops new ones while the buffer is full.
  ///
  /// Deltas are merged, as with `newest`.
  case oldest(Int)

  /// Keeps all changes, and makes producers wait while the consumer is more than this many changes (0 or more)
  /// behind.
  ///
  /// A change beyond the bound is kept too. Its producer waits until the consumer is within the bound again:
  ///
  /// - A dispatch in a lane, on the concurrent queue, on the main queue or by `send` does not end yet. Its
  ///   `didDispatch`, its completion and the dispatches behind it in its lane come later. No thread waits, and
  ///   `updateModel` returns at once. A time limit goes on: the dispatch may time out, although its change is made.
  /// - A commit of a hook or completion of such a dispatch does not wait. Nor does one of an inline observer that
  ///   another thread has called with a change of such a dispatch.
  /// - A commit from outside of dispatches, or in a `.sync` dispatch, blocks its thread. It does so after the observers
  ///   were notified.
  /// - A commit on a thread that runs a task, or on the main queue, does not wait, because the consumer may need that
  ///   thread. This covers a `.sync` dispatch and `updateModel` there, but not `send`, which waits.
  ///
  /// The buffer thus holds at most the bound, and one change for each commit of a running dispatch or a blocked
  /// thread. The commits that don't wait come on top.
  ///
  /// Before the first `next()` nobody waits: all is kept. Between two changes, a consumer can itself dispatch to the
  /// store in every mode, and await the result. While the task that called `next` last waits inside the library, no
  /// producer waits for the stream. Such waits are those for a handle, `send`, `.sync`, a turn, or another stream of
  /// a store.
  ///
  /// The library does not see other waits. Between two changes, a consumer must not wait for a producer by:
  ///
  /// - Child tasks, semaphores or queues of the program.
  /// - Its executor's queue, while that queue commits from outside.
  ///
  /// An iterator that is kept and no longer used also makes producers wait. So use it in one task: once that has ended,
  /// a new one may get its place in memory, and lets the producers go on beyond the bound while it waits.
  case suspending(Int)

  @usableFromInline
  func check() {
    switch self {
    case .unbounded: break
    case .newest(let bound), .oldest(let bound):
      if bound < 1 {
        stopProgram("A stream can't keep \(bound) changes (\(self)): pass a bound of 1 or more.")
      }
    case .suspending(let bound):
      if bound < 0 {
        stopProgram("A stream can't be \(bound) changes behind: pass a bound of 0 or more.")
      }
    }
  }

  /// Whether values that can be merged are.
  var merges: Bool {
    switch self {
    case .newest, .oldest: true
    case .unbounded, .suspending: false
    }
  }

  var isSuspending: Bool {
    if case .suspending = self { true } else { false }
  }
}
