import Synchronization

/// Ends of dispatches that do not begin: dropped, rejected, skipped or cancelled ones, with their completions.
///
/// Producers may drop dispatches faster than the pool's threads run completions. So no more jobs are queued than the
/// bound, and a thread that dispatches first runs some of the ends above it.
final class PendingEnds: Sendable {
  static let bound = 1_024
  /// The number of ends that a thread runs before it dispatches.
  ///
  /// More than one, so that the number of ends falls. Not all, so that a completion that dispatches again does not
  /// keep the thread for ever.
  static let share = 16
  private let ends = Locked(FIFO<@Sendable () -> Void>())
  /// The number of ends, changed under the lock.
  private let count = Atomic(0)

  /// Adds an end; returns whether a job that takes one is to be queued.
  func append(_ end: @escaping @Sendable () -> Void) -> Bool {
    ends.withLock { ends in
      ends.append(end)
      return count.wrappingAdd(1, ordering: .relaxed).newValue <= Self.bound
    }
  }

  /// Takes an end for a job; also returns whether another job is to be queued for the ends above the bound.
  func take() -> (end: (@Sendable () -> Void)?, needsJob: Bool) {
    ends.withLock { ends in
      guard let end = ends.popFirst() else { return (nil, false) }
      return (end, count.wrappingSubtract(1, ordering: .relaxed).newValue >= Self.bound)
    }
  }

  /// Takes an end above the bound, for which no job is queued.
  func takeSurplus() -> (@Sendable () -> Void)? {
    guard hasSurplus else { return nil }
    return ends.withLock { ends in
      guard hasSurplus else { return nil }
      count.wrappingSubtract(1, ordering: .relaxed)
      return ends.popFirst()
    }
  }

  private var hasSurplus: Bool { count.load(ordering: .relaxed) > Self.bound }
}
