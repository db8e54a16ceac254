import Dispatch

/// The moment at which an observer is called.
public enum ObservationMoment: Sendable {
  /// Once the commit is saved.
  case durable
}

extension Store {
  /// Calls an observer with each change of a source, in commit order, once the commit is saved.
  ///
  /// Use it for what leaves the process and may be lost in a crash, such as messages to those who watch, or caches of
  /// others. A mail that must go out is the work of a `DurableEffect`. The observer is called on a queue of its own, never
  /// on the thread that writes. The changes are kept until then, however slow it is; a whole model that is kept is copied
  /// by the next commit, so follow parts or elements of a large one. `Persistence.close()` waits for its calls, if the
  /// store was saved there when the observation began. Changes that are not saved, because saving has failed, are not
  /// delivered.
  ///
  /// - Parameters:
  ///   - source: The state to follow.
  ///   - initial: Whether the first change is the present state, without commits, once that is saved.
  ///   - moment: `.durable`.
  ///   - body: Called with each change, one call after the other.
  /// - Precondition: The store is registered with `persisted:`. If its dispatcher has no database (`persistence: nil`),
  ///   the observer is called after the commit.
  public func observe<Value>(
    _ source: StateSource<Model, Value>, initial: Bool = false, when moment: ObservationMoment,
    _ body: @escaping @Sendable (Change<Value, Action>) -> Void
  ) -> ObserverToken {
    ExclusiveSection.check(storage, "observed", on: .current)
    let persistence = (storage.presentKeeper as? PersistedRecord)?.persistence
    let isInMemory = persistence == nil && staysInMemory
    guard persistence != nil || isInMemory else {
      stopProgram(
        """
        Store "\(identifier)" is not saved, so its commits are never durable. Register it with persisted: before you \
        observe it.
        """)
    }
    let deliveries = SavedDeliveries(
      in: isInMemory ? ThreadState.current.simulated?.world : persistence?.world)
    persistence?.state.withLockReleasing { $0.add(deliveries) }
    let observation = observe(source, initial: initial, on: .inline) {
      [weak storage = self.storage] change in
      let (delivery, version) = (deliveries.add { body(change) }, change.version)
      // The record that keeps commits now: an earlier commit may have had another one.
      guard let record = storage?.presentKeeper as? PersistedRecord else {
        return deliveries.end(delivery, isSaved: isInMemory)
      }
      let savedVersion = record.savedVersion
      record.persistence.afterSaving { error in
        // A store that was replaced commits without being saved; it may have been registered again since.
        deliveries.end(delivery, isSaved: error == nil && savedVersion.contains(version))
      }
    }
    return ObserverToken {
      deliveries.cancel()
      observation.cancel()
    }
  }
}

extension Store {
  /// Notes that it was registered with `persisted:` at a dispatcher that has no database.
  func stayInMemory() { storage.withLock { _ in _ = storage.attachment(orAdd: InMemory()) } }

  fileprivate var staysInMemory: Bool {
    storage.withLock { _ in storage.attachment(InMemory.self) != nil }
  }
}

private final class InMemory: StoreAttachment, @unchecked Sendable {}  // because it has no state

/// The calls of one observer, in the order of the commits.
final class SavedDeliveries: Sendable {
  private let queue = DispatchQueue(label: "DispatchStore.saved")
  private let world: (any SimulatedWorld)?
  private let state = Locked(State())

  private typealias Call = @Sendable () -> Void

  private struct State {
    /// The calls whose commits may be unsaved, or come after such ones.
    var waiting = FIFO<(delivery: Delivery, call: Call)>()
    /// The calls that the queue is about to make; here rather than in the queue, so that cancelling releases them.
    var due = FIFO<Call>()
    var isCancelled = false
  }

  /// The commit of a call; the lock of the list guards its state.
  ///
  /// It does not keep the call: whoever saves the commit keeps it as long as the database is away.
  final class Delivery: @unchecked Sendable {
    /// Nil while the commit is neither saved nor given up.
    fileprivate var isSaved: Bool?

    fileprivate init() {}
  }

  init(in world: (any SimulatedWorld)?) { self.world = world }

  func add(_ call: @escaping @Sendable () -> Void) -> Delivery {
    let delivery = Delivery()
    state.withLock { if !$0.isCancelled { $0.waiting.append((delivery, call)) } }
    return delivery
  }

  /// Calls the observer with what is saved.
  ///
  /// Threads may come in another order than the commits, so a delivery waits for those before it.
  func end(_ delivery: Delivery, isSaved: Bool) {
    var given: [Call] = []
    state.withLock { state in
      delivery.isSaved = isSaved
      while let isSaved = state.waiting.first?.delivery.isSaved,
        let first = state.waiting.popFirst()
      {
        guard isSaved else {
          given.append(first.call)
          continue
        }
        state.due.append(first.call)
        // Under the lock, so that nothing which waits for the calls that are due comes before them.
        whenDelivered { self.callNext() }
      }
    }
    // Calls that were given up are released outside of the lock.
    withExtendedLifetime(given) {}
  }

  private func callNext() {
    let call = state.withLock { $0.due.popFirst() }
    call?()
  }

  /// Releases all calls, also those whose commits can't be saved now.
  func cancel() {
    let former = state.exchange(State(isCancelled: true))
    withExtendedLifetime(former) {}
  }

  /// Calls a closure once the observer has been called with everything that was saved before.
  func whenDelivered(_ body: @escaping @Sendable () -> Void) {
    queue.enqueue(body, in: world)
  }
}
