import Dispatch

/// The moment at which an observer is called.
public enum ObservationMoment: Sendable {
  /// Once the commit is saved.
  case durable
}

extension Store {
  /// Calls an observer with each change of a source, in commit order, once the commit is saved.
  ///
  /// Use it for all that leaves the process: mails, messages, caches of others. The observer is called on a queue of
  /// its own, never on the thread that writes. The changes are kept until then; a whole model that is kept is copied by
  /// the next commit, so follow parts or elements of a large one. Changes that are not saved, because saving has
  /// failed, are not delivered.
  ///
  /// - Parameters:
  ///   - source: The state to follow.
  ///   - moment: `.durable`.
  ///   - body: Called with each change, one call after the other.
  /// - Precondition: The store is registered as persistent.
  public func observe<Value>(
    _ source: StateSource<Model, Value>, when moment: ObservationMoment,
    _ body: @escaping @Sendable (Change<Value, Action>) -> Void
  ) -> ObserverToken {
    guard let record = storage.keeper as? PersistedRecord else {
      stopProgram(
        """
        Store "\(identifier)" is not saved, so its commits are never durable. Register it with persisted: before you \
        observe it.
        """)
    }
    let persistence = record.persistence
    let queue = SavedDeliveries(in: persistence.world)
    return observe(source, on: .inline) { change in
      persistence.afterSaving { error in
        if error == nil { queue.add { body(change) } }
      }
    }
  }
}

/// The calls of one observer, one after the other.
private final class SavedDeliveries: Sendable {
  private let queue = DispatchQueue(label: "DispatchStore.saved")
  private let world: (any SimulatedWorld)?

  init(in world: (any SimulatedWorld)?) { self.world = world }

  func add(_ body: @escaping @Sendable () -> Void) {
    if let world {
      world.run(.queue(ObjectIdentifier(queue)), body)
    } else {
      queue.async(execute: body)
    }
  }
}
