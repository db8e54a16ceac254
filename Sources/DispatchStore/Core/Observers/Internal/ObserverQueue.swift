import Dispatch

/// The queue of an observer that the notifier does not call.
struct ObserverQueue: Sendable {
  private let queue: DispatchQueue

  static let main = ObserverQueue(queue: .main)

  private init(queue: DispatchQueue) {
    self.queue = queue
  }

  init(_ delivery: ObserverDelivery) {
    // A serial queue on top keeps the order even if the target is concurrent.
    queue = DispatchQueue(label: "DispatchStore.observer", target: delivery.target)
  }

  func enqueue(_ body: @escaping @Sendable () -> Void) {
    if let world = ThreadState.current.simulated?.world {
      world.run(queue === DispatchQueue.main ? .main : .queue(ObjectIdentifier(queue)), body)
    } else {
      queue.async(execute: body)
    }
  }

  /// Wraps a main-actor closure for a call on the main queue.
  static func onMain<Change: Sendable>(
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
