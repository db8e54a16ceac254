import Synchronization

/// A moment of the end at which closures are called.
enum EndMoment {
  /// All stores have ended; the completion follows.
  case storesEnd
  /// The place is free: with the result, or before that if commits are saved meanwhile.
  case placeFree
  /// The stores have ended, and the result is about to be published: whoever reads it finds released what the closure
  /// releases.
  case beforeResult
  /// The stores have ended, none of the dispatch's code runs, and the waiters were called.
  case over
}

/// A closure that waits for the end of a dispatch.
struct Waiter {
  let body: @Sendable () -> Void
  /// The dispatch that waits; nil for other waiters.
  let details: DispatchDetails?

  init(for details: DispatchDetails? = nil, _ body: @escaping @Sendable () -> Void) {
    (self.details, self.body) = (details, body)
  }

  /// Whether the dispatch that waits has ended, as one that was cancelled has, so that the closure does nothing.
  var isIdle: Bool { details?.hasEnded.load(ordering: .acquiring) == true }
}
