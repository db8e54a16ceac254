public import Dispatch

/// A queue on which an observer is notified of a store's commits.
///
/// No commit waits for it.
public struct ObserverDelivery: Sendable {
  let target: DispatchQueue

  /// Delivers on this queue, one call after the other, even if the queue is concurrent.
  public static func queue(_ queue: DispatchQueue) -> ObserverDelivery {
    ObserverDelivery(target: queue)
  }
}

/// The main queue, as the place where an observer is notified.
public struct MainDelivery: Sendable {
  /// Delivers on the main queue, isolated to the main actor.
  ///
  /// No commit waits for it.
  public static let main = MainDelivery()
}
