/// What a stream keeps for a consumer that is behind its store.
public enum StreamBufferingPolicy: Sendable, Equatable {
  /// Keeps everything: nothing is lost, and memory grows as far as the consumer is behind.
  case unbounded

  /// Keeps the newest elements, at most so many, and drops older ones; at least 1.
  case bufferingNewest(Int)

  /// Keeps the oldest elements, at most so many, and drops those that come while it is full; at least 1.
  case bufferingOldest(Int)

  /// Keeps everything, and has producers wait while the consumer is more than so many elements behind; 0 or more.
  ///
  /// The element of a commit that goes beyond the bound is kept too, and its producer waits until the consumer has
  /// taken so many that it is within:
  ///
  /// - A dispatch in a lane, on the concurrent queue, on the main queue or by `send` does not end: its `didDispatch`,
  ///   its completion, and what follows in its lane come after. No thread waits, and `updateModel` returns at once.
  /// - A commit of a caller from outside, or in a `.sync` dispatch, blocks its thread after the observers were
  ///   notified, as it does for the delivery turn.
  /// - A commit on a thread that runs a task, or on the main queue, blocks nothing, since the consumer may need that
  ///   thread; so a `.sync` dispatch from there, or an `updateModel`, does not wait. (`send` does.)
  ///
  /// So a stream keeps at most the bound, one element for each commit of dispatches under way and of threads that
  /// wait, and what such tasks and the main queue have committed.
  ///
  /// A consumer may itself dispatch to the store between two elements, in every mode, and wait for that: while the task
  /// that called `next` last waits inside the library (for a handle, `send`, `.sync`, its turn, or another stream of a
  /// store), the stream has no producer wait. Of other waits the library does not know. Between two
  /// elements a consumer must not wait so for a producer: by child tasks, semaphores or queues of the program, or for
  /// its executor's queue while that commits from outside. An iterator that is kept and not used has producers wait
  /// too.
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
