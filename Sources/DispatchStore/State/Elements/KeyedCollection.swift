/// A collection with a key for each element, so that observers can follow single elements and deltas.
///
/// `TrackedDictionary` finds the changes of a commit in time linear in these changes. Dictionaries, and arrays of
/// elements with identity, are compared at each commit. Your own persistent collections can conform, too. If such a
/// collection finds quickly how it differs from an earlier value, `tracksChanges` is true, and that value is the
/// checkpoint. All requirements are called in the store's exclusive section, so they must read only the collection.
public protocol KeyedCollection<ElementKey, ElementValue> {
  /// The key that identifies an element.
  associatedtype ElementKey: Hashable
  /// An element, without its key.
  associatedtype ElementValue
  /// A mark that an observer keeps, to find the later changes.
  associatedtype Checkpoint = Void

  /// Returns the element with this key; nil if there is none.
  func value(forKey key: ElementKey) -> ElementValue?

  /// All elements by their keys.
  var valuesByKey: [ElementKey: ElementValue] { get }

  /// Whether the collection finds its changes since a checkpoint; if not, observers compare elements.
  static var tracksChanges: Bool { get }

  /// Returns a checkpoint for the current content.
  func makeCheckpoint() -> Checkpoint

  /// Returns the elements that may have changed since a checkpoint.
  func changes(since checkpoint: Checkpoint) -> KeyedChanges<ElementKey, ElementValue>

  /// Releases the checkpoint of an observer that has ended.
  func release(_ checkpoint: Checkpoint)
}

extension KeyedCollection {
  /// Does nothing.
  @inlinable
  public func release(_ checkpoint: Checkpoint) {}
}

extension KeyedCollection where Checkpoint == Void {
  /// False, so observers compare elements.
  @inlinable
  public static var tracksChanges: Bool { false }

  /// Keeps nothing.
  @inlinable
  public func makeCheckpoint() {}

  /// Returns `.unknown`, so observers compare elements.
  @inlinable
  public func changes(since checkpoint: Void) -> KeyedChanges<ElementKey, ElementValue> { .unknown }
}

/// The elements of a keyed collection that may have changed since a checkpoint.
public enum KeyedChanges<Key: Hashable, Value> {
  /// The elements that were inserted, removed or changed, perhaps back to their old value.
  ///
  /// If a key appears more than once, its first entry has the element as it was at the checkpoint.
  case touched([Touched])
  /// The collection was replaced by another, or has changed too much.
  case unknown

  /// An element that may have changed.
  public struct Touched {
    /// The element's key.
    public let key: Key
    /// The element before; nil if there was none.
    public let old: Value?

    /// Makes an entry for an element that may have changed.
    ///
    /// - Parameters:
    ///   - key: The element's key.
    ///   - old: The element before; nil if there was none.
    @inlinable
    public init(key: Key, old: Value?) {
      self.key = key
      self.old = old
    }
  }
}

extension KeyedChanges: Sendable where Key: Sendable, Value: Sendable {}

extension KeyedChanges.Touched: Sendable where Key: Sendable, Value: Sendable {}

/// Changes are found by comparison: in time linear in the observed elements, and for deltas in all elements.
extension Dictionary: KeyedCollection where Value: Equatable {
  /// The dictionary's keys.
  public typealias ElementKey = Key
  /// The dictionary's values.
  public typealias ElementValue = Value

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
  /// The identity of an element.
  public typealias ElementKey = Element.ID
  /// An element, with its identity.
  public typealias ElementValue = Element

  /// Returns the first element with this identity; nil if there is none.
  @inlinable
  public func value(forKey key: Element.ID) -> Element? { first { $0.id == key } }

  /// The elements by their identity.
  @inlinable
  public var valuesByKey: [Element.ID: Element] {
    [Element.ID: Element](lazy.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
  }
}
