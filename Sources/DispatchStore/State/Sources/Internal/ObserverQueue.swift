import Dispatch

/// The queue of an observer that the notifier does not call.
struct ObserverQueue: Sendable {
  private let queue: DispatchQueue

  /// Nil if the observer is called inline.
  init?(_ delivery: ObserverDelivery) {
    switch delivery.place {
    case .inline: return nil
    // A serial queue on top keeps the order even if the target is concurrent.
    case .queue(let target): queue = DispatchQueue(label: "DispatchStore.observer", target: target)
    case .main: queue = .main
    }
  }

  func enqueue(_ body: @escaping @Sendable () -> Void) {
    if let world = ThreadState.current.simulated?.world {
      world.run(queue === DispatchQueue.main ? .main : .queue(ObjectIdentifier(queue)), body)
    } else {
      queue.async(execute: body)
    }
  }
}
