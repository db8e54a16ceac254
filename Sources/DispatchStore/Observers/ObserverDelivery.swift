public import Dispatch

/// Where an observer is notified of a store's commits; always in commit order.
public enum ObserverDelivery: Sendable {
  /// On the thread that committed, before `updateModel` returns; or on the notifier's, if that thread defers.
  case inline
  /// On this queue, one after the other also where the queue is concurrent. No commit waits for it.
  case queue(DispatchQueue)
}

/// The main queue, as the place where an observer is notified.
public struct MainDelivery: Sendable {
  /// On the main queue, isolated to the main actor, in commit order; no commit waits for it.
  public static let main = MainDelivery()
}
