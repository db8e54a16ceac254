/// A dictionary that records which elements were changed, so that a store's observers find changes without a search.
///
/// A copy-on-write value like `Dictionary`. While a store's observers follow its elements or deltas, each change also
/// records the key and the old element until these observers have read them. Otherwise each change only checks
/// whether to record. Equality, hashing and coding concern only the elements.
///
/// `dictionary[key]?.part = …` changes an element in place. While changes are recorded, the old element is retained
/// until the next commit, so changing it triggers copy-on-write.
///
/// If you assign another value, observers don't know the difference: they compare the elements they follow, and the
/// delta is a reset. This does not apply if you change a copy and then assign it: the copy is known to derive from
/// the original. To take over other contents as changes, use `replaceContents(with:)`.
public struct TrackedDictionary<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  @usableFromInline var elements: [Key: Value]
  @usableFromInline var log: ChangeLog<Key, Value>

  /// Makes an empty dictionary.
  @inlinable
  public init() {
    self.init([:])
  }

  /// Makes a tracked dictionary with the elements of a dictionary.
  @inlinable
  public init(_ dictionary: [Key: Value]) {
    elements = dictionary
    log = ChangeLog()
  }

  /// Makes a dictionary with elements and their keys, which must be unique.
  @inlinable
  public init(uniqueKeysWithValues pairs: some Sequence<(Key, Value)>) {
    self.init(Dictionary(uniqueKeysWithValues: pairs))
  }

  /// The elements as a plain dictionary, which shares their storage.
  @inlinable
  public var dictionary: [Key: Value] { elements }

  /// The element with a key; nil if there is none, or to remove it.
  @inlinable
  public subscript(key: Key) -> Value? {
    get { elements[key] }
    set {
      if let newValue { updateValue(newValue, forKey: key) } else { removeValue(forKey: key) }
    }
    _modify {
      if beginChange() {
        yield &elements[key][noting: key, in: log]
      } else {
        yield &elements[key]
      }
    }
  }

  /// The element with a key, or a default if there is none; a change starts from that default.
  @inlinable
  public subscript(key: Key, default defaultValue: @autoclosure () -> Value) -> Value {
    get { elements[key, default: defaultValue()] }
    _modify {
      if beginChange() { log.note(key, elements[key]) }
      yield &elements[key, default: defaultValue()]
    }
  }

  /// Inserts or replaces an element, and returns the old one.
  @inlinable
  @discardableResult
  public mutating func updateValue(_ value: Value, forKey key: Key) -> Value? {
    let isNoted = beginChange()
    let old = elements.updateValue(value, forKey: key)
    if isNoted { log.note(key, old) }
    return old
  }

  /// Removes an element, and returns it.
  @inlinable
  @discardableResult
  public mutating func removeValue(forKey key: Key) -> Value? {
    let isNoted = beginChange()
    let old = elements.removeValue(forKey: key)
    if isNoted, let old { log.note(key, old) }
    return old
  }

  /// Removes all elements.
  @inlinable
  public mutating func removeAll(keepingCapacity: Bool = false) {
    if beginChange() {
      for (key, old) in elements { log.note(key, old) }
    }
    elements.removeAll(keepingCapacity: keepingCapacity)
  }

  /// Inserts elements with their keys; if a key exists already, `combine` returns the element from both.
  @inlinable
  public mutating func merge(
    _ other: some Sequence<(Key, Value)>, uniquingKeysWith combine: (Value, Value) throws -> Value
  ) rethrows {
    for (key, value) in other {
      updateValue(try elements[key].map { try combine($0, value) } ?? value, forKey: key)
    }
  }

  /// Prepares a change, and returns whether to record it.
  ///
  /// Copies that share a log must have the same content, so a changing copy gets its own log first.
  @inlinable
  mutating func beginChange() -> Bool {
    if !isKnownUniquelyReferenced(&log) { log = log.copy() }
    guard log.isRecording else { return false }
    if log.isAbandoned {
      log.endRecording()
      return false
    }
    log.makeRoom(in: elements)
    return true
  }
}

extension Optional {
  /// The element, which is recorded before it changes, so that the change finds it only once.
  @inlinable
  subscript<Key: Hashable>(noting key: Key, in log: ChangeLog<Key, Wrapped>) -> Wrapped? {
    get { self }
    _modify {
      log.note(key, self)
      yield &self
    }
  }
}

extension TrackedDictionary where Value: Equatable {
  /// Takes over the elements of a dictionary, and records those that differ as changes, in time linear in both.
  @inlinable
  public mutating func replaceContents(with new: [Key: Value]) {
    for key in elements.keys where new[key] == nil { removeValue(forKey: key) }
    for (key, value) in new where elements[key] != value { updateValue(value, forKey: key) }
  }
}

extension TrackedDictionary where Value: Identifiable, Key == Value.ID {
  /// Makes a dictionary of elements by identity; the last of several with the same identity counts.
  @inlinable
  public init(_ elements: some Sequence<Value>) {
    self.init(Dictionary(elements.lazy.map { ($0.id, $0) }, uniquingKeysWith: { $1 }))
  }

  /// Inserts an element, or replaces the one with its identity, and returns the old element.
  @inlinable
  @discardableResult
  public mutating func update(_ element: Value) -> Value? {
    updateValue(element, forKey: element.id)
  }
}
