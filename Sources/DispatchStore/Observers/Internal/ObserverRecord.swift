import Dispatch
import Synchronization

/// A registered observer, without the store's types.
@usableFromInline
final class ObserverRecord: @unchecked Sendable {  // because its store's lock guards `slot`
  /// Its place in the list of its store's observers; nil where it is not in it.
  var slot: Int?
  private let body: @Sendable (ObservedChange) -> Void
  private let queue: DispatchQueue?
  private let isActive = Atomic(true)

  /// - Parameter body: Called with the changes of its store.
  @usableFromInline
  init(on delivery: ObserverDelivery, _ body: @escaping @Sendable (ObservedChange) -> Void) {
    self.body = body
    queue =
      switch delivery {
      case .inline: nil
      // A serial queue on top of the given one keeps the order also where that one is concurrent.
      case .queue(let target): DispatchQueue(label: "DispatchStore.observer", target: target)
      }
  }

  @usableFromInline
  init(
    on delivery: MainDelivery, _ body: @escaping @MainActor @Sendable (ObservedChange) -> Void
  ) {
    self.body = { change in
      #if SIMULATION
        // The cast, because a simulated main queue is not the main actor, whose isolation it stands for.
        if ThreadState.current.simulated != nil {
          return unsafeBitCast(body, to: (@Sendable (ObservedChange) -> Void).self)(change)
        }
      #endif
      MainActor.assumeIsolated { body(change) }
    }
    queue = .main
  }

  var isCancelled: Bool { !isActive.load(ordering: .sequentiallyConsistent) }

  func cancel() {
    isActive.store(false, ordering: .sequentiallyConsistent)
  }

  func notify(of change: ObservedChange) {
    guard let queue else { return call(change) }
    if let world = ThreadState.current.simulated?.world {
      world.run(queue === DispatchQueue.main ? .main : .queue(ObjectIdentifier(queue))) {
        self.call(change)
      }
    } else {
      queue.async { self.call(change) }
    }
  }

  private func call(_ change: ObservedChange) {
    guard isActive.load(ordering: .sequentiallyConsistent) || isPlanted(.calledAfterCancel) else {
      return
    }
    body(change)
  }
}
