/// The elements of a dictionary that commits have changed.
@usableFromInline
final class DictionaryChange<Key: Hashable & Sendable, Value: Sendable>: PartChange {
  @usableFromInline let path: DictionaryPath<Key, Value>
  /// The changed elements, each key once; nil if another dictionary was assigned.
  @usableFromInline let entries: [ElementChange<Key, Value>]?

  @inlinable
  init(
    _ path: DictionaryPath<Key, Value>, _ entries: [ElementChange<Key, Value>]?
  ) {
    (self.path, self.entries) = (path, entries)
  }

  @inlinable var name: String { path.part.name() }

  @inlinable var canBeUndone: Bool { entries != nil }

  @inlinable var elements: [Element]? {
    entries?.map { ($0.key, $0.old, $0.new) }
  }

  @inlinable
  func undo(in model: UnsafeMutableRawPointer) {
    _ = path.part.modify(model) { dictionary in
      for entry in entries ?? [] { dictionary.pointee[entry.key] = entry.old }
    }
  }

  @inlinable
  func redo(in model: UnsafeMutableRawPointer) {
    _ = path.part.modify(model) { dictionary in
      for entry in entries ?? [] { dictionary.pointee[entry.key] = entry.new }
    }
  }

  @inlinable
  func merged(with later: any PartChange) -> any PartChange {
    let later = later as! DictionaryChange
    guard let entries, let laterEntries = later.entries else { return DictionaryChange(path, nil) }
    return DictionaryChange(path, (entries + laterEntries).mergedByKey())
  }
}

/// The path to a dictionary, which its changes share.
@usableFromInline
final class DictionaryPath<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  @usableFromInline let part: PartPath<TrackedDictionary<Key, Value>>

  @inlinable
  init(_ part: PartPath<TrackedDictionary<Key, Value>>) { self.part = part }
}
