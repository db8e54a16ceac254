/// The observers of single elements of one collection in one store: those that the notifier calls, or those on queues.
///
/// The store has one for each collection that is observed so. A commit costs it what the commit has changed,
/// however many observers there are.
final class ElementHub<Model: Sendable, Action: ActionType, Elements: KeyedCollection & Sendable>:
  ObserverRecord, @unchecked Sendable
where Elements.ElementKey: Sendable, Elements.ElementValue: Sendable {
  // because its superclass is, and because the store's lock guards `checkpoint` and `observers`
  typealias Key = Elements.ElementKey
  typealias Observer = ElementObserver<Elements.ElementValue, Action>

  let part: ModelPart<Model, Elements>
  private let equality = ElementEquality<Elements.ElementValue>()
  private var checkpoint: Elements.Checkpoint
  private var observers: [Key: ObserverList] = [:]
  /// What the notifier is to deliver, in commit order.
  private let notices = Locked(FIFO<Notice>())

  private struct Notice {
    let version: UInt64
    let observer: Observer
  }

  /// Called in the exclusive section.
  init(_ part: ModelPart<Model, Elements>, of model: UnsafeRawPointer, isNotified: Bool) {
    self.part = part
    checkpoint = part.read(of: model) { $0.pointee.makeCheckpoint() }
    super.init(isNotified: isNotified)
  }

  var isEmpty: Bool { observers.isEmpty }

  func add(_ observer: Observer, for key: Key) {
    // The order of the store's list does not matter here: the hub is notified of all commits.
    observers[key, default: ObserverList()].append(observer, from: 0)
  }

  func remove(_ observer: Observer, for key: Key) {
    observers[key]?.remove(observer)
    if observers[key]?.isEmpty == true { observers[key] = nil }
  }

  /// The last observer has been removed; called in the exclusive section.
  func end(_ model: UnsafeRawPointer) {
    part.read(of: model) { $0.pointee.release(checkpoint) }
  }

  override func keep(_ commit: CommitInProgress, scheduling kept: inout KeptCommit) {
    part.read(of: commit.model) { elements in
      switch elements.pointee.changes(since: checkpoint) {
      case .touched(let touched):
        for element in touched {
          guard let observers = observers[element.key] else { continue }
          keep(elements.pointee.value(forKey: element.key), for: observers, commit, &kept)
        }
      case .unknown:
        compare(elements, commit, &kept)
      }
      checkpoint = elements.pointee.makeCheckpoint()
    }
  }

  private func compare(
    _ elements: UnsafePointer<Elements>, _ commit: CommitInProgress, _ kept: inout KeptCommit
  ) {
    if observers.count == 1, let (key, observers) = observers.first {
      return keep(elements.pointee.value(forKey: key), for: observers, commit, &kept)
    }
    let values = elements.pointee.valuesByKey
    for (key, observers) in observers { keep(values[key], for: observers, commit, &kept) }
  }

  private func keep(
    _ value: Elements.ElementValue?, for observers: ObserverList, _ commit: CommitInProgress,
    _ kept: inout KeptCommit
  ) {
    for case let registration? in observers.slots where !registration.observer.isCancelled {
      let observer = unsafeDowncast(registration.observer, to: Observer.self)
      guard case .change(let isDue) = observer.keep(value, commit, equality) else { continue }
      if isNotified {
        notices.withLock { $0.append(Notice(version: commit.version, observer: observer)) }
      } else if isDue {
        kept.schedule(observer)
      }
    }
  }

  override func notify(of change: ObservedChange) {
    while let observer = nextObserver(upTo: change.version) { observer.notify(of: change) }
  }

  private func nextObserver(upTo version: UInt64) -> Observer? {
    notices.withLock { notices in
      guard let first = notices.first, first.version <= version else { return nil }
      return notices.popFirst()?.observer
    }
  }
}
