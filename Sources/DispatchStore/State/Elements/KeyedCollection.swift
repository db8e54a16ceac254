/// A collection with a key for each element, so that observers can follow single elements and deltas.
///
/// `TrackedDictionary` finds the changes of a commit in time linear in these changes. Dictionaries, and arrays of
/// elements with identity, are compared at each commit. Your own collections can conform, too. All requirements are
/// called in the store's exclusive section, so they must read only the collection.
public protocol KeyedCollection<ElementKey, ElementValue> {
  /// The key that identifies an element.
  associatedtype ElementKey: Hashable
  /// An element, without its key.
  associatedtype ElementValue

  /// Returns the element with this key; nil if there is none.
  func value(forKey key: ElementKey) -> ElementValue?

  /// All elements by their keys.
  var valuesByKey: [ElementKey: ElementValue] { get }

  /// The changes that the collection has recorded; nil, the default, if observers are to compare elements.
  ///
  /// A collection that keeps its elements in a `TrackedDictionary` returns that dictionary's. If it begins or ends to do so,
  /// observers of deltas get a reset.
  var recordedChanges: RecordedChanges<ElementKey, ElementValue>? { get }
}

extension KeyedCollection {
  /// Nil, so observers compare elements.
  @inlinable
  public var recordedChanges: RecordedChanges<ElementKey, ElementValue>? { nil }
}

/// The changes that a `TrackedDictionary` records for the observers of its elements.
public struct RecordedChanges<Key: Hashable, Value> {
  @usableFromInline let log: ChangeLog<Key, Value>

  @inlinable
  init(_ log: ChangeLog<Key, Value>) {
    self.log = log
  }
}

/// Changes are found by comparison: in time linear in the observed elements, and for deltas in all elements.
extension Dictionary: KeyedCollection where Value: Equatable {
  /// Returns the element with this key; nil if there is none.
  @inlinable
  public func value(forKey key: Key) -> Value? { self[key] }

  /// The dictionary itself.
  @inlinable
  public var valuesByKey: [Key: Value] { self }
}

/// Changes are found by comparison, in time linear in the number of elements.
///
/// If several elements have the same identity, the first one counts.
extension Array: KeyedCollection where Element: Identifiable & Equatable {
  /// Returns the first element with this identity; nil if there is none.
  @inlinable
  public func value(forKey key: Element.ID) -> Element? { first { $0.id == key } }

  /// The elements by their identity.
  @inlinable
  public var valuesByKey: [Element.ID: Element] {
    [Element.ID: Element](lazy.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
  }
}
