/// The dispatches that were accepted during some period.
///
/// Only the routes that these dispatches use refer to the generation for long, so it is released with the last
/// dispatch. Dispatches pay nothing for this. A route refers to the generation until the route was evicted and its
/// last dispatch has ended, which the route counts anyway.
final class DispatchGeneration: Sendable {
  /// The number of the dispatcher.
  let dispatcher: UInt64
  private let atEnd = Locked<[@Sendable () -> Void]>([])
  /// The following generation; a generation does not end before the preceding ones have.
  private let next = Locked<DispatchGeneration?>(nil)

  init(of dispatcher: UInt64) {
    self.dispatcher = dispatcher
  }

  /// Calls a closure once all dispatches have ended, on the thread that ends the last one, with no lock held.
  ///
  /// The caller has a reference, so the generation has not ended yet.
  func whenEnded(_ body: @escaping @Sendable () -> Void) {
    atEnd.withLock { $0.append(body) }
  }

  func keep(_ next: DispatchGeneration) {
    self.next.withLock { $0 = next }
  }

  deinit {
    for body in atEnd.withLock({ $0 }) { body() }
  }
}

/// The dispatches that a dispatcher accepts: fewer with each case.
enum Acceptance: Comparable {
  /// Accepts all dispatches. Can become closed.
  case open
  /// Accepts only dispatches that work under way makes. Can become ended.
  case closed
  /// Accepts no dispatch.
  case ended
}

/// The action type of a route that leads to no store.
///
/// Sequences, and work that follows a dispatch, use it to be accepted, and counted as a dispatch under way.
enum WorkAcceptance: ActionType {}
