/// The changes of one or more commits to a keyed collection, to apply to a copy of it.
///
/// Contains the net effect for each key. An element that was inserted and removed again is left out, and so is one
/// that equals its old value. Applied to a copy with the content before, a delta gives the content after.
public struct KeyedDelta<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  /// The first and the last commit in the delta; the first may be the version of the model at registration.
  public let versions: ClosedRange<UInt64>
  /// The content at a reset, before `entries`; nil if this is no reset.
  @usableFromInline let content: [Key: Value]?
  /// The changes by key.
  @usableFromInline var entries: [Key: Entry]

  /// A change of an element.
  public struct Change: Sendable {
    /// The element before.
    public let old: Value
    /// The element after.
    public let new: Value

    @inlinable
    init(old: Value, new: Value) {
      (self.old, self.new) = (old, new)
    }
  }

  /// An element before and after; nil if there is none.
  @usableFromInline typealias Entry = (old: Value?, new: Value?)

  @inlinable
  init(versions: ClosedRange<UInt64>, content: [Key: Value]? = nil, entries: [Key: Entry] = [:]) {
    self.versions = versions
    self.content = content
    self.entries = entries
  }

  /// Whether the copy must be emptied before the insertions.
  ///
  /// True for the first delta of an observer that begins with the current content, and for a delta after changes that
  /// are not known.
  @inlinable
  public var isReset: Bool { content != nil }

  /// Whether the delta changes nothing.
  @inlinable
  public var isEmpty: Bool { entries.isEmpty && content == nil }

  /// The elements that were inserted; all elements in a reset.
  ///
  /// Takes time linear in the number of changes.
  @inlinable
  public var inserted: [Key: Value] {
    guard var all = content else {
      return entries.compactMapValues { $0.old == nil ? $0.new : nil }
    }
    for (key, entry) in entries { all[key] = entry.new }
    return all
  }

  /// The elements that were removed, with their old values; none in a reset.
  ///
  /// Takes time linear in the number of changes.
  @inlinable
  public var removed: [Key: Value] {
    if isReset { return [:] }
    return entries.compactMapValues { $0.new == nil ? $0.old : nil }
  }

  /// The elements that were changed, with their old and new values; none in a reset.
  ///
  /// Takes time linear in the number of changes.
  @inlinable
  public var changed: [Key: Change] {
    if isReset { return [:] }
    return entries.compactMapValues { entry in
      guard let old = entry.old, let new = entry.new else { return nil }
      return Change(old: old, new: new)
    }
  }

  /// Updates a copy from the content before to the content after, in time linear in the changes.
  @inlinable
  public func apply(to dictionary: inout [Key: Value]) {
    if let content { dictionary = content }
    for (key, entry) in entries { dictionary[key] = entry.new }
  }

  /// Updates a tracked copy, and changes no elements but those in the delta; a reset replaces all elements.
  @inlinable
  public func apply(to dictionary: inout TrackedDictionary<Key, Value>) {
    if isReset { dictionary.removeAll() }
    for (key, value) in content ?? [:] where entries[key] == nil { dictionary[key] = value }
    for (key, entry) in entries { dictionary[key] = entry.new }
  }

  /// Merges this delta with the next one, in time linear in the changes of the next one.
  @inlinable
  public func merging(_ next: Self) -> Self {
    var merged = self
    merged.merge(next, ElementEquality())
    return merged
  }

  @inlinable
  mutating func merge(_ next: Self, _ equality: ElementEquality<Value>) {
    let versions = versions.lowerBound...next.versions.upperBound
    if next.isReset {
      self = Self(versions: versions, content: next.content, entries: next.entries)
      return
    }
    var entries = entries
    self.entries = [:]
    for (key, entry) in next.entries {
      let old = entries[key].map { $0.old } ?? entry.old
      // In a reset an entry overrides the content, even with the value that its observer had before.
      let isChange =
        if let content {
          entry.new != nil || content[key] != nil
        } else {
          equality.differ(old, entry.new)
        }
      entries[key] = isChange ? (old: old, new: entry.new) : nil
    }
    self = Self(versions: versions, content: content, entries: entries)
  }
}
