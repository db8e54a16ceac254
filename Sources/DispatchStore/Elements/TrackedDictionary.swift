/// A dictionary that knows which of its elements were changed: observers of a store find that without a search.
///
/// A value with copy-on-write, as a `Dictionary`. While a store's observers follow its elements or deltas, each
/// change also notes the key and the old element, until the commit's observers have read that; otherwise each
/// change only looks whether it has to. Equality, hashing and coding concern the elements alone.
///
/// An element is changed in place, by `dictionary[key]?.part = …`. While changes are noted, the old element is
/// kept until the next commit, so what it stores by copy-on-write is copied then.
///
/// Where a program assigns another value, observers can't know what differs: they compare what they follow, and a delta
/// is a reset. A copy that was changed and then assigned is known to have come from the first. To take over
/// other contents as changes, use `replaceContents(with:)`.
public struct TrackedDictionary<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  @usableFromInline var elements: [Key: Value]
  @usableFromInline var log: ChangeLog<Key, Value>

  /// Makes an empty one.
  @inlinable
  public init() {
    self.init([:])
  }

  /// Makes one with the elements of a dictionary.
  @inlinable
  public init(_ dictionary: [Key: Value]) {
    elements = dictionary
    log = ChangeLog()
  }

  /// Makes one with elements and their keys, which must be unique.
  @inlinable
  public init(uniqueKeysWithValues pairs: some Sequence<(Key, Value)>) {
    self.init(Dictionary(uniqueKeysWithValues: pairs))
  }

  /// The elements as a plain dictionary, which shares their storage.
  @inlinable
  public var dictionary: [Key: Value] { elements }

  /// The element with a key; nil where there is none, and assigned to remove it.
  @inlinable
  public subscript(key: Key) -> Value? {
    get { elements[key] }
    set {
      if let newValue { updateValue(newValue, forKey: key) } else { removeValue(forKey: key) }
    }
    _modify {
      willChange(key)
      yield &elements[key]
    }
  }

  /// The element with a key, or where there is none a default, with which a change of it begins.
  @inlinable
  public subscript(key: Key, default defaultValue: @autoclosure () -> Value) -> Value {
    get { elements[key, default: defaultValue()] }
    _modify {
      willChange(key)
      yield &elements[key, default: defaultValue()]
    }
  }

  /// Inserts or replaces an element, and returns the old one.
  @inlinable
  @discardableResult
  public mutating func updateValue(_ value: Value, forKey key: Key) -> Value? {
    let isNoted = beginChange()
    let count = elements.count
    let old = elements.updateValue(value, forKey: key)
    if isNoted { log.note(key, old, count: count) }
    return old
  }

  /// Removes an element, and returns it.
  @inlinable
  @discardableResult
  public mutating func removeValue(forKey key: Key) -> Value? {
    let isNoted = beginChange()
    let count = elements.count
    let old = elements.removeValue(forKey: key)
    if isNoted, let old { log.note(key, old, count: count) }
    return old
  }

  /// Removes all elements.
  @inlinable
  public mutating func removeAll(keepingCapacity: Bool = false) {
    if beginChange() {
      for (key, old) in elements { log.note(key, old, count: elements.count) }
    }
    elements.removeAll(keepingCapacity: keepingCapacity)
  }

  /// Inserts elements with their keys; where a key is there already, `combine` returns the element from both.
  @inlinable
  public mutating func merge(
    _ other: some Sequence<(Key, Value)>, uniquingKeysWith combine: (Value, Value) throws -> Value
  ) rethrows {
    for (key, value) in other {
      updateValue(try elements[key].map { try combine($0, value) } ?? value, forKey: key)
    }
  }

  /// Notes that an element is about to change, where changes are read.
  @inlinable
  mutating func willChange(_ key: Key) {
    if beginChange() { log.note(key, elements[key], count: elements.count) }
  }

  /// Whether the change that follows has to be noted.
  ///
  /// Copies that share a log have the same content: so one that changes gets another log first.
  @inlinable
  mutating func beginChange() -> Bool {
    if !isKnownUniquelyReferenced(&log) { log = log.copy() }
    return log.isRecording
  }
}

extension TrackedDictionary where Value: Equatable {
  /// Takes over the elements of a dictionary, as changes of those that differ; in time linear in both.
  @inlinable
  public mutating func replaceContents(with new: [Key: Value]) {
    for key in elements.keys where new[key] == nil { removeValue(forKey: key) }
    for (key, value) in new where elements[key] != value { updateValue(value, forKey: key) }
  }
}

extension TrackedDictionary where Value: Identifiable, Key == Value.ID {
  /// Makes one with elements that have an identity; of several with the same one, the last.
  @inlinable
  public init(_ elements: some Sequence<Value>) {
    self.init(Dictionary(elements.lazy.map { ($0.id, $0) }, uniquingKeysWith: { $1 }))
  }

  /// Inserts an element, or replaces the one with its identity, and returns that.
  @inlinable
  @discardableResult
  public mutating func update(_ element: Value) -> Value? {
    updateValue(element, forKey: element.id)
  }
}
