/// A hub's observers, by the keys of their elements.
///
/// The per-commit functions are inlinable, so that they are compiled for the collection's types.
@usableFromInline
final class ElementTable<Model: Sendable, Elements: KeyedCollection & Sendable>: @unchecked Sendable
where Elements.ElementKey: Sendable, Elements.ElementValue: Sendable {
  // because the store's lock guards the mutable state
  @usableFromInline typealias Key = Elements.ElementKey
  @usableFromInline typealias Value = Elements.ElementValue

  @usableFromInline let part: ModelPart<Model, Elements>
  @usableFromInline let equality = ElementEquality<Value>()
  /// Reads the changes that the collection records.
  @exclusivity(unchecked) @usableFromInline var reader = ChangeReader()
  @exclusivity(unchecked) @usableFromInline var observers: [Key: ElementObserverList] = [:]
  /// The observed elements that hidden commits have touched since the last commit that was not hidden.
  ///
  /// Noted with these commits, since a history or the saving of the store lets the collection forget its notes then.
  @exclusivity(unchecked) @usableFromInline var hidden: Set<Key> = []
  /// The number of observers added so far.
  private var addedCount = 0

  /// The observers of an element that may have changed, and the element after the commit.
  @usableFromInline typealias Touched = (observers: ElementObserverList, value: Value?)

  /// Makes an empty table; like all methods, called in the exclusive section.
  init(_ part: ModelPart<Model, Elements>, of model: UnsafeRawPointer) {
    self.part = part
    let recorded = part.read(of: model) { $0.pointee.recordedChanges }
    if let recorded { reader.begin(recorded.log) }
  }

  func add(_ observer: Follower, for key: Key) {
    addedCount += 1
    // The hub is notified of all commits, so the first commit to deliver does not matter here.
    observers[key, default: ElementObserverList(number: addedCount)].list.append(observer, from: 0)
  }

  func remove(_ observer: Follower, for key: Key) {
    observers[key]?.list.remove(observer)
    if observers[key]?.list.isEmpty == true {
      observers.removeAndShrink(key)
      hidden.remove(key)
    }
  }

  @inlinable
  func keep(_ commit: CommitInProgress, for hub: ElementHub, _ kept: inout KeptCommit) {
    part.read(of: commit.model) { elements in
      let changes = reader.take(elements.pointee.recordedChanges)
      if commit.isHidden {
        // A reader that knows no content has the next commit compared.
        if changes == nil { reader.end() }
        for change in changes ?? [] where observers[change.key] != nil { hidden.insert(change.key) }
        return
      }
      guard let changes else {
        hidden = []
        return keep(compare(elements), commit, hub, &kept)
      }
      if changes.count == 1, hidden.isEmpty {
        // The common case, without an array.
        guard let observers = observers[changes[0].key] else { return }
        let value = elements.pointee.value(forKey: changes[0].key)
        return keep(value, for: observers, commit, hub, &kept)
      }
      var observed: [Touched] = changes.compactMap { touched($0.key, elements) }
      if !hidden.isEmpty {
        observed += hidden.compactMap { touched($0, elements) }
        hidden = []
      }
      keep(observed, commit, hub, &kept)
    }
  }

  @inlinable
  func touched(_ key: Key, _ elements: UnsafePointer<Elements>) -> Touched? {
    observers[key].map { ($0, elements.pointee.value(forKey: key)) }
  }

  /// Finds the observers whose element has changed, by comparison.
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
      if equality.differ(state(of: next).last, value) { return true }
    }
    return false
  }

  /// Keeps the changes in order of registration, because the order of a hash table differs between processes.
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
      let state = state(of: next)
      // If a key was touched several times, the first time counts.
      guard state.version != commit.version, equality.differ(state.last, value) else { continue }
      state.version = commit.version
      // A change that a stream drops is not what the next one is compared with.
      let change = ReplacedValue<Value?>(old: state.last.map { .some($0) }, by: value)
      if hub.keep(change, of: commit, for: next, &kept) { state.last = value }
    }
  }

  @inlinable
  func state(of observer: Follower) -> ElementState<Value> {
    unsafeDowncast(observer.hubState.unsafelyUnwrapped, to: ElementState<Value>.self)
  }
}
