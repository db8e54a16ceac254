import Dispatch

/// The queue of an observer that the notifier does not call.
struct ObserverQueue: Sendable {
  private let queue: DispatchQueue
  /// The program's queue, which a simulation takes to be serial; nil if it is the main queue.
  private let target: DispatchQueue?

  /// Nil if the observer is called inline.
  init?(_ delivery: ObserverDelivery) {
    guard let target = delivery.queue else { return nil }
    let isMain = MainQueue.isMain(target)
    // A serial queue on top keeps the order even if the target is concurrent.
    queue = isMain ? target : DispatchQueue(label: "DispatchStore.observer", target: target)
    self.target = isMain ? nil : target
  }

  func enqueue(_ body: @escaping @Sendable () -> Void) {
    guard let world = ThreadState.current.simulated?.world else {
      return queue.async(execute: body)
    }
    guard let target else { return world.run(.main, body) }
    // The call keeps the queue, so that no other one gets the address that names its line.
    world.run(.queue(ObjectIdentifier(target))) { withExtendedLifetime(target) { body() } }
  }
}
