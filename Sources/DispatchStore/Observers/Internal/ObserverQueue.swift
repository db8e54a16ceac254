import Dispatch

/// Where an observer is called that the notifier does not call.
struct ObserverQueue: Sendable {
  /// Nil for the thread that commits, once it has left the exclusive section.
  private let queue: DispatchQueue?

  static let main = ObserverQueue(queue: .main)
  /// On the thread that commits, in no delivery turn.
  static let committingThread = ObserverQueue(queue: nil)

  private init(queue: DispatchQueue?) {
    self.queue = queue
  }

  init(_ delivery: ObserverDelivery) {
    // A serial queue on top of the given one keeps the order also where that one is concurrent.
    queue = DispatchQueue(label: "DispatchStore.observer", target: delivery.target)
  }

  func enqueue(_ body: @escaping @Sendable () -> Void) {
    guard let queue else { return body() }
    if let world = ThreadState.current.simulated?.world {
      world.run(queue === DispatchQueue.main ? .main : .queue(ObjectIdentifier(queue)), body)
    } else {
      queue.async(execute: body)
    }
  }

  /// A closure for the main queue.
  static func onMain<Change: Sendable>(
    _ body: @escaping @MainActor @Sendable (Change) -> Void
  ) -> @Sendable (Change) -> Void {
    { change in
      #if SIMULATION
        // The cast, because a simulated main queue is not the main actor, whose isolation it stands for.
        if ThreadState.current.simulated != nil {
          return unsafeBitCast(body, to: (@Sendable (Change) -> Void).self)(change)
        }
      #endif
      MainActor.assumeIsolated { body(change) }
    }
  }
}
