/// The observers of a hub by the keys of their elements.
///
/// What is called for each commit is inlinable, so that it is compiled for the collection's types.
@usableFromInline
final class ElementTable<Model: Sendable, Action: ActionType, Elements: KeyedCollection & Sendable>:
  @unchecked Sendable
where Elements.ElementKey: Sendable, Elements.ElementValue: Sendable {
  // because the store's lock guards what changes
  @usableFromInline typealias Key = Elements.ElementKey
  @usableFromInline typealias Value = Elements.ElementValue

  @usableFromInline let part: ModelPart<Model, Elements>
  @usableFromInline let equality = ElementEquality<Value>()
  @exclusivity(unchecked) @usableFromInline var checkpoint: Elements.Checkpoint
  @exclusivity(unchecked) @usableFromInline var observers: [Key: ElementObserverList] = [:]

  /// Called in the exclusive section, as all methods are.
  init(_ part: ModelPart<Model, Elements>, of model: UnsafeRawPointer) {
    self.part = part
    checkpoint = part.read(of: model) { $0.pointee.makeCheckpoint() }
  }

  func add(_ observer: TypedElementObserver<Value>, for key: Key) {
    observers[key, default: ElementObserverList()].append(observer)
  }

  func remove(_ observer: TypedElementObserver<Value>, for key: Key) {
    observers[key]?.remove(observer)
    if observers[key]?.isEmpty == true { observers[key] = nil }
  }

  /// The last observer has been removed.
  func end(_ model: UnsafeRawPointer) {
    part.read(of: model) { $0.pointee.release(checkpoint) }
  }

  @inlinable
  func keep(_ commit: CommitInProgress, for hub: ElementHub, _ kept: inout KeptCommit) {
    part.read(of: commit.model) { elements in
      switch elements.pointee.changes(since: checkpoint) {
      case .touched(let touched):
        for element in touched {
          guard let observers = observers[element.key] else { continue }
          keep(elements.pointee.value(forKey: element.key), for: observers, commit, hub, &kept)
        }
      case .unknown:
        compare(elements, commit, hub, &kept)
      }
      checkpoint = elements.pointee.makeCheckpoint()
    }
  }

  @inlinable
  func compare(
    _ elements: UnsafePointer<Elements>, _ commit: CommitInProgress, _ hub: ElementHub,
    _ kept: inout KeptCommit
  ) {
    if observers.count == 1, let (key, observers) = observers.first {
      return keep(elements.pointee.value(forKey: key), for: observers, commit, hub, &kept)
    }
    let values = elements.pointee.valuesByKey
    for (key, observers) in observers { keep(values[key], for: observers, commit, hub, &kept) }
  }

  @inlinable
  func keep(
    _ value: Value?, for observers: ElementObserverList, _ commit: CommitInProgress,
    _ hub: ElementHub, _ kept: inout KeptCommit
  ) {
    var index = 0
    while let next = observers.next(&index) {
      let observer = unsafeDowncast(next, to: TypedElementObserver<Value>.self)
      // Where a key was touched several times, the first time counts.
      guard observer.version != commit.version, equality.differ(observer.last, value) else {
        continue
      }
      let change = ElementChange(
        old: observer.last, new: value, version: commit.version,
        action: commit.action.assumingMemoryBound(to: Action?.self).pointee,
        transaction: commit.transaction)
      (observer.last, observer.version) = (value, commit.version)
      hub.keep(TypedElementChange(change), of: commit.version, for: observer, &kept)
    }
  }
}
