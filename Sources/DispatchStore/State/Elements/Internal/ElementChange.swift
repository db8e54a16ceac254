/// An element that commits have changed; nil before it was inserted, or after it was removed.
@usableFromInline
struct ElementChange<Key: Hashable, Value> {
  @usableFromInline let key: Key
  @usableFromInline var old: Value?
  @usableFromInline var new: Value?

  @inlinable
  init(key: Key, old: Value?, new: Value?) {
    (self.key, self.old, self.new) = (key, old, new)
  }
}

extension ElementChange: Sendable where Key: Sendable, Value: Sendable {}

extension TrackedDictionary {
  /// Returns the elements that were changed since a reader's last call, each once.
  ///
  /// Nil if another dictionary was assigned, so that they are not known.
  @inlinable
  func takeChanges(for reader: inout ChangeReader) -> [ElementChange<Key, Value>]? {
    reader.take(RecordedChanges(log))?
      .map { ElementChange(key: $0.key, old: $0.old, new: elements[$0.key]) }
      .mergedByKey()
  }
}

extension Array {
  /// The changes with each key once: the first old value, and the last new one.
  @inlinable
  func mergedByKey<Key, Value>() -> [Element] where Element == ElementChange<Key, Value> {
    guard count > 1 else { return self }
    var places: [Key: Int] = [:]
    var merged: [Element] = []
    for change in self {
      if let place = places[change.key] {
        merged[place].new = change.new
      } else {
        places[change.key] = merged.count
        merged.append(change)
      }
    }
    return merged
  }
}
