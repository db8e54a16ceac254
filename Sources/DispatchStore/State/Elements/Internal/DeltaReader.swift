/// Finds the changes of each commit to one collection of a store's model.
///
/// The per-commit functions are inlinable, so that they are compiled for the collection's types.
@usableFromInline
final class DeltaReader<Model: Sendable, Elements: KeyedCollection & Sendable>: @unchecked Sendable
where Elements.ElementKey: Sendable, Elements.ElementValue: Sendable {
  // because the store's lock guards the mutable state
  @usableFromInline typealias Key = Elements.ElementKey
  @usableFromInline typealias Delta = KeyedDelta<Key, Elements.ElementValue>

  @usableFromInline let part: ModelPart<Model, Elements>
  @usableFromInline let equality = ElementEquality<Elements.ElementValue>()
  /// Knows the content at the last commit, if the collection recorded its changes then; a collection may at times.
  @exclusivity(unchecked) @usableFromInline var reader = ChangeReader()
  /// The content at the last commit, if the collection recorded no changes then.
  @exclusivity(unchecked) @usableFromInline var known: [Key: Elements.ElementValue]?
  /// The changes of commits of which observers were not notified, since the last one of which they were.
  ///
  /// Read with these commits, since a history or the saving of the store lets the collection forget its notes then.
  @exclusivity(unchecked) @usableFromInline var hidden: Delta?

  @usableFromInline
  init(_ path: any KeyPath<Model, Elements> & Sendable) {
    part = ModelPart(path)
  }

  /// Begins with the current content; called in the exclusive section.
  ///
  /// - Returns: The content as a delta.
  @usableFromInline
  func begin(_ model: UnsafeRawPointer, _ version: UInt64) -> Delta {
    let (recorded, content) = part.read(of: model) {
      ($0.pointee.recordedChanges, $0.pointee.valuesByKey)
    }
    if let recorded { reader.begin(recorded.log) } else { known = content }
    return Delta(versions: version...version, content: content)
  }

  /// Stops reading; called in the exclusive section.
  @usableFromInline
  func end() {
    reader.end()
    (known, hidden) = (nil, nil)
  }

  /// The changes of a commit, and of hidden commits before it; nil if there are none, or if it is hidden.
  @inlinable
  func readDelta(of commit: CommitInProgress) -> Delta? {
    let read = readChanges(of: commit)
    guard commit.isHidden || hidden != nil else { return read }
    // Taking it lets the merge change it in place: a run of hidden commits copies nothing of those before.
    guard var delta = hidden.take() else {
      hidden = read
      return nil
    }
    if let read { delta.merge(read, equality) }
    if commit.isHidden {
      hidden = delta
      return nil
    }
    if delta.isEmpty { return nil }
    return Delta(
      versions: commit.version...commit.version, content: delta.content, entries: delta.entries)
  }

  /// The changes of a commit; nil if there are none.
  @inlinable
  func readChanges(of commit: CommitInProgress) -> Delta? {
    part.read(of: commit.model) { elements in
      guard let recorded = elements.pointee.recordedChanges else {
        // The next comparison finds them as well.
        if commit.isHidden { return nil }
        reader.end()
        return difference(to: elements.pointee.valuesByKey, commit.version)
      }
      known = nil
      guard let changes = reader.take(recorded) else {
        return Delta(
          versions: commit.version...commit.version, content: elements.pointee.valuesByKey)
      }
      return changes.isEmpty ? nil : delta(of: changes, in: elements, commit.version)
    }
  }

  @inlinable
  func delta(
    of touched: [ChangeLog<Key, Elements.ElementValue>.Entry],
    in elements: UnsafePointer<Elements>, _ version: UInt64
  ) -> Delta? {
    var entries: [Key: Delta.Entry] = [:]
    for element in touched where entries[element.key] == nil {
      let new = elements.pointee.value(forKey: element.key)
      entries[element.key] = (old: element.old, new: new)
    }
    entries = entries.filter { equality.differ($0.value.old, $0.value.new) }
    return delta(of: entries, version)
  }

  @inlinable
  func difference(
    to new: [Key: Elements.ElementValue], _ version: UInt64
  ) -> Delta? {
    let former = known
    known = new
    guard let old = former else { return Delta(versions: version...version, content: new) }
    // A commit to another part leaves a dictionary as it is.
    if equality.areEqual != nil, haveSameBytes(old, new) { return nil }
    var entries: [Key: Delta.Entry] = [:]
    for (key, value) in old where equality.differ(value, new[key]) {
      entries[key] = (old: value, new: new[key])
    }
    for (key, value) in new where old[key] == nil {
      entries[key] = (old: nil, new: value)
    }
    return delta(of: entries, version)
  }

  @inlinable
  func delta(of entries: [Key: Delta.Entry], _ version: UInt64) -> Delta? {
    entries.isEmpty ? nil : Delta(versions: version...version, entries: entries)
  }
}
