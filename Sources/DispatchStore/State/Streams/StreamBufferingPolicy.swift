/// The buffering of a stream while its consumer lags behind the store.
public enum StreamBufferingPolicy: Sendable, Equatable {
  /// Keeps everything.
  ///
  /// Nothing is lost, and memory grows with the consumer's lag.
  case unbounded

  /// Keeps the newest elements, up to this number (1 or more), and drops older ones.
  case bufferingNewest(Int)

  /// Keeps the oldest elements, up to this number (1 or more), and drops new ones while the buffer is full.
  case bufferingOldest(Int)

  /// Keeps everything, and makes producers wait while the consumer is more than this many elements (0 or more)
  /// behind.
  ///
  /// An element beyond the bound is kept too. Its producer waits until the consumer is within the bound again:
  ///
  /// - A dispatch in a lane, on the concurrent queue, on the main queue or by `send` does not end yet. Its
  ///   `didDispatch`, its completion and the dispatches behind it in its lane come later. No thread waits, and
  ///   `updateModel` returns at once.
  /// - A commit from outside of dispatches, or in a `.sync` dispatch, blocks its thread, after the observers were
  ///   notified.
  /// - A commit on a thread that runs a task, or on the main queue, does not wait, because the consumer may need that
  ///   thread. This covers a `.sync` dispatch and `updateModel` there, but not `send`, which waits.
  ///
  /// The buffer thus holds at most the bound, and one element for each commit of a running dispatch or a blocked
  /// thread. The commits of such tasks and of the main queue come on top.
  ///
  /// Between two elements, a consumer can itself dispatch to the store in every mode, and await the result. While the
  /// task that called `next` last waits inside the library, no producer waits for the stream. Such waits are those
  /// for a handle, `send`, `.sync`, a turn, or another stream of a store.
  ///
  /// The library does not see other waits. Between two elements, a consumer must not wait for a producer by:
  ///
  /// - child tasks, semaphores or queues of the program
  /// - its executor's queue, while that queue commits from outside
  ///
  /// An iterator that is kept and not used also makes producers wait.
  case suspending(Int)

  @usableFromInline
  func check() {
    switch self {
    case .unbounded: break
    case .bufferingNewest(let bound), .bufferingOldest(let bound):
      if bound < 1 {
        stopProgram("A stream can't keep \(bound) elements (\(self)): pass a bound of 1 or more.")
      }
    case .suspending(let bound):
      if bound < 0 {
        stopProgram("A stream can't be \(bound) elements behind: pass a bound of 0 or more.")
      }
    }
  }
}
