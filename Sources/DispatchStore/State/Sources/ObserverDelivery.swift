public import Dispatch

/// The place where an observer is called.
public struct ObserverDelivery: Sendable {
  /// The queue on which the observer is called; nil if the notifier calls.
  let queue: DispatchQueue?

  /// Calls the observer on the thread that committed, before `updateModel` returns.
  ///
  /// If that thread must not wait, the store's notifier calls.
  public static let inline = ObserverDelivery(queue: nil)

  /// Calls the observer on this queue, one call after the other, even if the queue is concurrent.
  ///
  /// No commit waits for it.
  public static func queue(_ queue: DispatchQueue) -> ObserverDelivery {
    ObserverDelivery(queue: queue)
  }

  /// The main queue, for an observer that `MainDelivery.isolated` has wrapped.
  @usableFromInline static let onMain = ObserverDelivery(queue: .main)

  @usableFromInline var isInline: Bool { queue == nil }
}

/// The main queue, as the place where an observer is called.
public struct MainDelivery: Sendable {
  /// Calls the observer on the main queue, isolated to the main actor.
  ///
  /// No commit waits for it.
  public static let main = MainDelivery()

  /// Wraps a main-actor closure for a call on the main queue.
  @usableFromInline
  static func isolated<Change: Sendable>(
    _ body: @escaping @MainActor @Sendable (Change) -> Void
  ) -> @Sendable (Change) -> Void {
    { change in
      #if SIMULATION
        // A cast, because a simulated main queue only stands for the main actor, and `assumeIsolated` would trap.
        if ThreadState.current.simulated != nil {
          return unsafeBitCast(body, to: (@Sendable (Change) -> Void).self)(change)
        }
      #endif
      MainActor.assumeIsolated { body(change) }
    }
  }
}
