public import Dispatch

/// A queue on which an observer is notified of a store's commits; no commit waits for it.
public struct ObserverDelivery: Sendable {
  let target: DispatchQueue

  /// On this queue, one call after the other also where the queue is concurrent.
  public static func queue(_ queue: DispatchQueue) -> ObserverDelivery {
    ObserverDelivery(target: queue)
  }
}

/// The main queue, as the place where an observer is notified.
public struct MainDelivery: Sendable {
  /// On the main queue, isolated to the main actor; no commit waits for it.
  public static let main = MainDelivery()
}
