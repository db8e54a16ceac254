/// What one or several commits have changed in a keyed collection: what to write to a copy of it.
///
/// The net effect for each key: an element that was inserted and removed again is not in it, nor one that is
/// equal to what it was. Applied to a copy that has the content before, it gives the content after.
public struct KeyedDelta<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  /// The first and the last commit whose changes it has; it may begin with the version of the present model.
  public let versions: ClosedRange<UInt64>
  /// The content at a reset, before `entries`; nil where this is no reset.
  @usableFromInline let content: [Key: Value]?
  /// What was changed.
  @usableFromInline var entries: [Key: Entry]

  /// A change of an element.
  public struct Change: Sendable {
    /// The element as it was.
    public let old: Value
    /// The element as it is.
    public let new: Value

    @inlinable
    init(old: Value, new: Value) {
      (self.old, self.new) = (old, new)
    }
  }

  @usableFromInline
  struct Entry: Sendable {
    @usableFromInline let old: Value?
    @usableFromInline let new: Value?

    @inlinable
    init(old: Value?, new: Value?) {
      (self.old, self.new) = (old, new)
    }
  }

  @inlinable
  init(versions: ClosedRange<UInt64>, content: [Key: Value]? = nil, entries: [Key: Entry] = [:]) {
    self.versions = versions
    self.content = content
    self.entries = entries
  }

  /// Whether a copy is emptied before the insertions: in the first delta of an observer that begins with the present
  /// content, and in one after which it is not known what was changed.
  @inlinable
  public var isReset: Bool { content != nil }

  /// Whether it changes nothing.
  @inlinable
  public var isEmpty: Bool { entries.isEmpty && content == nil }

  /// The elements that were inserted; in a reset, all.
  ///
  /// Takes time linear in the number of changes, as do the next two.
  @inlinable
  public var inserted: [Key: Value] {
    guard var all = content else {
      return entries.compactMapValues { $0.old == nil ? $0.new : nil }
    }
    for (key, entry) in entries { all[key] = entry.new }
    return all
  }

  /// The elements that were removed, as they were; none in a reset.
  @inlinable
  public var removed: [Key: Value] {
    if isReset { return [:] }
    return entries.compactMapValues { $0.new == nil ? $0.old : nil }
  }

  /// The elements that were changed, as they were and as they are; none in a reset.
  @inlinable
  public var changed: [Key: Change] {
    if isReset { return [:] }
    return entries.compactMapValues { entry in
      guard let old = entry.old, let new = entry.new else { return nil }
      return Change(old: old, new: new)
    }
  }

  /// Brings a copy that has the content before to the content after; in time linear in the changes.
  @inlinable
  public func apply(to dictionary: inout [Key: Value]) {
    if let content { dictionary = content }
    for (key, entry) in entries { dictionary[key] = entry.new }
  }

  /// The same for a tracked copy, in which it changes no other elements; a reset replaces all.
  @inlinable
  public func apply(to dictionary: inout TrackedDictionary<Key, Value>) {
    if isReset { dictionary.removeAll() }
    for (key, value) in content ?? [:] where entries[key] == nil { dictionary[key] = value }
    for (key, entry) in entries { dictionary[key] = entry.new }
  }

  /// This delta and the next one as one; takes time linear in the changes of the next one.
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
      let old = entries[key].map(\.old) ?? entry.old
      // In a reset an entry replaces the content's, also by what its observer had before.
      let isChange = isReset || equality.differ(old, entry.new)
      entries[key] = isChange ? Entry(old: old, new: entry.new) : nil
    }
    self = Self(versions: versions, content: content, entries: entries)
  }
}
