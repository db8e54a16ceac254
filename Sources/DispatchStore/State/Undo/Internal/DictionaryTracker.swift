/// Reads what each commit changes in a dictionary, from the dictionary's own record.
@usableFromInline
final class DictionaryTracker<Model: Sendable, Key: Hashable & Sendable, Value: Sendable>:
  PartTracker, @unchecked Sendable
{
  // because the store's lock guards it
  @usableFromInline let part: WritablePart<Model, TrackedDictionary<Key, Value>>
  @usableFromInline var reader: ChangeReader
  // Closures, since they are specialized where the types are known, and a method of a generic class is not.
  @usableFromInline let take:
    (_ model: UnsafeRawPointer, _ reader: inout ChangeReader) -> (any PartChange)?
  @usableFromInline let clear: (_ copy: UnsafeMutableRawPointer) -> Void

  @inlinable
  init(
    _ path: any WritableKeyPath<Model, TrackedDictionary<Key, Value>> & Sendable,
    _ none: TrackedDictionary<Key, Value>
  ) {
    let part = WritablePart(path)
    self.part = part
    reader = ChangeReader()
    take = { model, reader in
      let changes = part.read(model) { $0.takeChanges(for: &reader) }
      return changes?.isEmpty == true ? nil : DictionaryChange(part, changes)
    }
    // Shared by all, so that emptying a copy makes no new log.
    clear = { copy in part.modify(copy) { $0 = none } }
  }

  @inlinable
  func begin(_ model: UnsafeRawPointer) {
    part.read(model) { reader.begin($0.log) }
  }

  @inlinable
  func takeChange(_ model: UnsafeRawPointer) -> (any PartChange)? {
    take(model, &reader)
  }

  @usableFromInline
  func end() { reader.end() }

  @inlinable
  func empty(_ copy: UnsafeMutableRawPointer) { clear(copy) }

  @inlinable
  func swapParts(_ one: UnsafeMutableRawPointer, _ other: UnsafeMutableRawPointer) {
    part.modify(one) { one in part.modify(other) { swap(&one, &$0) } }
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
