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
  /// How many observers were added so far.
  private var addedCount = 0

  /// The observers of an element that may have changed, and the element as it is.
  @usableFromInline typealias Touched = (observers: ElementObserverList, value: Value?)

  /// Called in the exclusive section, as all methods are.
  init(_ part: ModelPart<Model, Elements>, of model: UnsafeRawPointer) {
    self.part = part
    checkpoint = part.read(of: model) { $0.pointee.makeCheckpoint() }
  }

  func add(_ observer: TypedElementObserver<Value>, for key: Key) {
    addedCount += 1
    observers[key, default: ElementObserverList(number: addedCount)].append(observer)
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
      case .touched(let touched) where touched.count == 1:
        // Without an array.
        if let observers = observers[touched[0].key] {
          let value = elements.pointee.value(forKey: touched[0].key)
          keep(value, for: observers, commit, hub, &kept)
        }
      case .touched(let touched):
        let observed: [Touched] = touched.compactMap { element in
          observers[element.key].map { ($0, elements.pointee.value(forKey: element.key)) }
        }
        keep(observed, commit, hub, &kept)
      case .unknown:
        keep(compare(elements), commit, hub, &kept)
      }
      checkpoint = elements.pointee.makeCheckpoint()
    }
  }

  /// Those that find by comparison that their element has changed.
  @inlinable
  func compare(_ elements: UnsafePointer<Elements>) -> [Touched] {
    if observers.count == 1, let (key, observers) = observers.first {
      return [(observers, elements.pointee.value(forKey: key))]
    }
    let values = elements.pointee.valuesByKey
    return observers.compactMap { key, observers in
      let value = values[key]
      return hasChanged(value, for: observers) ? (observers, value) : nil
    }
  }

  @inlinable
  func hasChanged(_ value: Value?, for observers: ElementObserverList) -> Bool {
    var index = 0
    while let next = observers.next(&index) {
      let observer = unsafeDowncast(next, to: TypedElementObserver<Value>.self)
      if equality.differ(observer.last, value) { return true }
    }
    return false
  }

  /// In order of registration, because hash tables have another order in each process.
  @inlinable
  func keep(
    _ touched: [Touched], _ commit: CommitInProgress, _ hub: ElementHub, _ kept: inout KeptCommit
  ) {
    let ordered =
      touched.count > 1 ? touched.sorted { $0.observers.number < $1.observers.number } : touched
    for (observers, value) in ordered { keep(value, for: observers, commit, hub, &kept) }
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
      hub.keep(TypedElementChange(change), of: commit, for: observer, &kept)
    }
  }
}
