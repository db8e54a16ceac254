extension PartTracker {
  /// Makes a tracker of a dictionary, which reads the dictionary's own record.
  @inlinable
  static func dictionary<Key, Value>(
    _ part: PartPath<TrackedDictionary<Key, Value>>, emptyingBy none: TrackedDictionary<Key, Value>
  ) -> PartTracker {
    var reader = ChangeReader()
    return PartTracker(
      begin: { model in _ = part.read(model) { reader.begin($0.pointee.log) } },
      takeChange: { model in
        var changes: [ElementChange<Key, Value>]?
        _ = part.read(model) { changes = $0.pointee.takeChanges(for: &reader) }
        return changes?.isEmpty == true ? nil : DictionaryChange(part, changes)
      },
      end: { reader.end() },
      empty: { copy in _ = part.modify(copy) { $0.pointee = none } },
      swapParts: { one, other in
        _ = part.modify(one) { one in
          _ = part.modify(other) { swap(&one.pointee, &$0.pointee) }
        }
      })
  }
}

/// The elements of a dictionary that commits have changed.
@usableFromInline
final class DictionaryChange<Key: Hashable & Sendable, Value: Sendable>: PartChange {
  @usableFromInline let part: PartPath<TrackedDictionary<Key, Value>>
  /// The changed elements, each key once; nil if another dictionary was assigned.
  @usableFromInline let entries: [ElementChange<Key, Value>]?

  @inlinable
  init(
    _ part: PartPath<TrackedDictionary<Key, Value>>, _ entries: [ElementChange<Key, Value>]?
  ) {
    (self.part, self.entries) = (part, entries)
  }

  @inlinable var name: String { part.name() }

  @inlinable var canBeUndone: Bool { entries != nil }

  @inlinable var elements: [Element]? {
    entries?.map { ($0.key, $0.old, $0.new) }
  }

  @inlinable
  func undo(in model: UnsafeMutableRawPointer) {
    _ = part.modify(model) { dictionary in
      for entry in entries ?? [] { dictionary.pointee[entry.key] = entry.old }
    }
  }

  @inlinable
  func redo(in model: UnsafeMutableRawPointer) {
    _ = part.modify(model) { dictionary in
      for entry in entries ?? [] { dictionary.pointee[entry.key] = entry.new }
    }
  }

  @inlinable
  func merged(with later: any PartChange) -> any PartChange {
    let later = later as! DictionaryChange
    guard let entries, let laterEntries = later.entries else { return DictionaryChange(part, nil) }
    return DictionaryChange(part, (entries + laterEntries).mergedByKey())
  }
}
