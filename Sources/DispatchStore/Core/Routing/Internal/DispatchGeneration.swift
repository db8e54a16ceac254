/// The dispatches that were accepted in some time: the routes that they use refer to it, and nothing else for long.
///
/// So it goes with the last of them, and no dispatch pays for that: a route refers to it until it was evicted and the
/// last dispatch that uses it has ended, which it counts anyway.
final class DispatchGeneration: Sendable {
  /// The number of the dispatcher.
  let dispatcher: UInt64
  private let atEnd = Locked<[@Sendable () -> Void]>([])
  /// The one after it: none ends before those before it have ended.
  private let next = Locked<DispatchGeneration?>(nil)

  init(of dispatcher: UInt64) {
    self.dispatcher = dispatcher
  }

  /// Calls a closure once all of them have ended: on the thread that ends the last one, with no lock held.
  ///
  /// The caller has a reference, and so this is before the end.
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

/// Whether a dispatcher accepts dispatches.
enum Acceptance {
  /// All. Can become closed.
  case open
  /// Those that work under way makes. Can become ended.
  case closed
  /// None.
  case ended
}

/// The action type of a route that leads to no store: by it a sequence, and what follows a dispatch, is accepted, and
/// counted as a dispatch under way.
enum WorkAcceptance: ActionType {}
