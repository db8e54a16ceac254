extension PartTracker {
  /// Makes a tracker of a dictionary, which reads the dictionary's own record.
  @inlinable
  static func dictionary<Model: Sendable, Key, Value>(
    _ part: WritablePart<Model, TrackedDictionary<Key, Value>>,
    emptyingBy none: TrackedDictionary<Key, Value>
  ) -> PartTracker {
    var reader = ChangeReader()
    return PartTracker(
      begin: { model in part.read(model) { reader.begin($0.log) } },
      takeChange: { model in
        let changes = part.read(model) { $0.takeChanges(for: &reader) }
        return changes?.isEmpty == true ? nil : DictionaryChange(part, changes)
      },
      end: { reader.end() },
      empty: { copy in part.modify(copy) { $0 = none } },
      swapParts: { one, other in
        part.modify(one) { one in part.modify(other) { swap(&one, &$0) } }
      })
  }
}

/// The elements of a dictionary that commits have changed.
@usableFromInline
final class DictionaryChange<Model: Sendable, Key: Hashable & Sendable, Value: Sendable>:
  PartChange, @unchecked Sendable
{
  // because it is constant
  @usableFromInline let part: WritablePart<Model, TrackedDictionary<Key, Value>>
  /// The changed elements, each key once; nil if another dictionary was assigned.
  @usableFromInline let entries: [ElementChange<Key, Value>]?

  @inlinable
  init(
    _ part: WritablePart<Model, TrackedDictionary<Key, Value>>,
    _ entries: [ElementChange<Key, Value>]?
  ) {
    (self.part, self.entries) = (part, entries)
  }

  @inlinable var path: AnyKeyPath { part.path }

  @inlinable var canBeUndone: Bool { entries != nil }

  @inlinable var elements: [Element]? {
    entries?.map { ($0.key, $0.old, $0.new) }
  }

  @inlinable
  func undo(in model: UnsafeMutableRawPointer) {
    part.modify(model) { dictionary in
      for entry in entries ?? [] { dictionary[entry.key] = entry.old }
    }
  }

  @inlinable
  func redo(in model: UnsafeMutableRawPointer) {
    part.modify(model) { dictionary in
      for entry in entries ?? [] { dictionary[entry.key] = entry.new }
    }
  }

  @inlinable
  func merged(with later: any PartChange) -> any PartChange {
    let later = later as! DictionaryChange
    guard let entries, let laterEntries = later.entries else { return DictionaryChange(part, nil) }
    return DictionaryChange(part, (entries + laterEntries).mergedByKey())
  }
}
