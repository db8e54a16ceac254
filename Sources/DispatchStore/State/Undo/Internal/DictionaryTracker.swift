/// Reads what each commit changes in a dictionary, from the dictionary's own record.
@usableFromInline
final class DictionaryTracker<Model: Sendable, Key: Hashable & Sendable, Value: Sendable>:
  PartTracker, @unchecked Sendable
{
  // because its superclass says so
  @usableFromInline let part: WritablePart<Model, TrackedDictionary<Key, Value>>
  /// Shared by all, so that emptying a copy makes no new log.
  @usableFromInline let none: TrackedDictionary<Key, Value>
  /// The mark of the content at the last commit.
  @usableFromInline var checkpoint: TrackingCheckpoint?

  @inlinable
  init(
    _ path: any WritableKeyPath<Model, TrackedDictionary<Key, Value>> & Sendable,
    _ none: TrackedDictionary<Key, Value>
  ) {
    (part, self.none) = (WritablePart(path), none)
    super.init()
  }

  @inlinable
  override func begin(_ model: UnsafeRawPointer) {
    part.read(model) { checkpoint = RecordedChanges($0.log).makeCheckpoint() }
  }

  @inlinable
  override func takeChange(_ model: UnsafeRawPointer) -> PartChange? {
    part.read(model) { dictionary in
      let recorded = RecordedChanges(dictionary.log)
      let entries = checkpoint.flatMap { recorded.changes(since: $0) }
      checkpoint = recorded.makeCheckpoint()
      guard let entries else { return DictionaryChange(part, nil) }
      if entries.isEmpty { return nil }
      var seen: Set<Key>? = entries.count > 1 ? [] : nil
      var changes: [DictionaryChange<Model, Key, Value>.Entry] = []
      for entry in entries where seen?.insert(entry.key).inserted != false {
        changes.append(
          .init(key: entry.key, old: entry.old, new: dictionary.elements[entry.key]))
      }
      return DictionaryChange(part, changes)
    }
  }

  override func end(_ model: UnsafeRawPointer) {
    part.read(model) { RecordedChanges($0.log).release() }
  }

  @inlinable
  override func empty(_ copy: UnsafeMutableRawPointer) {
    part.modify(copy) { $0 = none }
  }

  @inlinable
  override func swapParts(_ one: UnsafeMutableRawPointer, _ other: UnsafeMutableRawPointer) {
    part.modify(one) { one in part.modify(other) { swap(&one, &$0) } }
  }
}

/// The elements of a dictionary that commits have changed.
@usableFromInline
final class DictionaryChange<Model: Sendable, Key: Hashable & Sendable, Value: Sendable>:
  PartChange, @unchecked Sendable
{
  // because it is constant
  @usableFromInline
  struct Entry {
    @usableFromInline let key: Key
    @usableFromInline var old: Value?
    @usableFromInline var new: Value?

    @inlinable
    init(key: Key, old: Value?, new: Value?) {
      (self.key, self.old, self.new) = (key, old, new)
    }
  }

  @usableFromInline let part: WritablePart<Model, TrackedDictionary<Key, Value>>
  /// The changed elements, each key once; nil if another dictionary was assigned.
  @usableFromInline let entries: [Entry]?

  @inlinable
  init(_ part: WritablePart<Model, TrackedDictionary<Key, Value>>, _ entries: [Entry]?) {
    (self.part, self.entries) = (part, entries)
    super.init()
  }

  @inlinable override var path: AnyKeyPath { part.path }

  @inlinable override var canBeUndone: Bool { entries != nil }

  @inlinable override var elements: [Element]? {
    entries?.map { ($0.key, $0.old, $0.new) }
  }

  @inlinable
  override func undo(in model: UnsafeMutableRawPointer) {
    part.modify(model) { dictionary in
      for entry in entries ?? [] { dictionary[entry.key] = entry.old }
    }
  }

  @inlinable
  override func redo(in model: UnsafeMutableRawPointer) {
    part.modify(model) { dictionary in
      for entry in entries ?? [] { dictionary[entry.key] = entry.new }
    }
  }

  @inlinable
  override func merged(with later: PartChange) -> PartChange {
    let later = unsafeDowncast(later, to: DictionaryChange.self)
    guard var entries, let laterEntries = later.entries else { return DictionaryChange(part, nil) }
    var indices: [Key: Int] = [:]
    for (index, entry) in entries.enumerated() { indices[entry.key] = index }
    for entry in laterEntries {
      if let index = indices[entry.key] {
        entries[index].new = entry.new
      } else {
        entries.append(entry)
      }
    }
    return DictionaryChange(part, entries)
  }
}
