/// A collection with a key for each element, of which observers can follow single elements, and deltas.
///
/// `TrackedDictionary` finds what a commit has changed in the time that this changed; dictionaries, and arrays of
/// elements with identity, are compared at each commit. A persistent collection of a program can conform, too: where
/// it finds quickly in what it differs from an earlier value, it says so by `tracksChanges`, and its checkpoint is that
/// value. All requirements are called in the store's exclusive section: they read the collection alone.
public protocol KeyedCollection<ElementKey, ElementValue> {
  /// What identifies an element.
  associatedtype ElementKey: Hashable
  /// An element, without its key.
  associatedtype ElementValue
  /// What an observer keeps in order to find later what has changed since.
  associatedtype Checkpoint = Void

  /// The element with this key; nil where there is none.
  func value(forKey key: ElementKey) -> ElementValue?

  /// All elements by their keys.
  var valuesByKey: [ElementKey: ElementValue] { get }

  /// Whether it finds what has changed since a checkpoint; otherwise observers compare elements.
  static var tracksChanges: Bool { get }

  /// The present content as a checkpoint.
  func makeCheckpoint() -> Checkpoint

  /// What may have changed since a checkpoint.
  func changes(since checkpoint: Checkpoint) -> KeyedChanges<ElementKey, ElementValue>

  /// An observer that had a checkpoint has gone.
  func release(_ checkpoint: Checkpoint)
}

extension KeyedCollection {
  /// Nothing is to be done.
  @inlinable
  public func release(_ checkpoint: Checkpoint) {}
}

extension KeyedCollection where Checkpoint == Void {
  /// False: observers compare elements.
  @inlinable
  public static var tracksChanges: Bool { false }

  /// Nothing is kept.
  @inlinable
  public func makeCheckpoint() {}

  /// Unknown: observers compare elements.
  @inlinable
  public func changes(since checkpoint: Void) -> KeyedChanges<ElementKey, ElementValue> { .unknown }
}

/// What may have changed in a keyed collection since a checkpoint.
public enum KeyedChanges<Key: Hashable, Value> {
  /// These elements were inserted, removed or changed; perhaps to what they were.
  ///
  /// Where a key comes several times, the first one has the element as it was at the checkpoint.
  case touched([Touched])
  /// The collection was replaced by another, or has changed too much.
  case unknown

  /// An element that may have changed.
  public struct Touched {
    /// Its key.
    public let key: Key
    /// The element as it was; nil where there was none.
    public let old: Value?

    /// Makes an entry for an element that may have changed.
    ///
    /// - Parameters:
    ///   - key: Its key.
    ///   - old: The element as it was; nil where there was none.
    @inlinable
    public init(key: Key, old: Value?) {
      self.key = key
      self.old = old
    }
  }
}

extension KeyedChanges: Sendable where Key: Sendable, Value: Sendable {}

extension KeyedChanges.Touched: Sendable where Key: Sendable, Value: Sendable {}

/// By comparison: a commit takes time linear in the observed elements, and for deltas in all of them.
extension Dictionary: KeyedCollection where Value: Equatable {
  /// The dictionary's keys.
  public typealias ElementKey = Key
  /// The dictionary's values.
  public typealias ElementValue = Value

  /// The element with this key; nil where there is none.
  @inlinable
  public func value(forKey key: Key) -> Value? { self[key] }

  /// The dictionary itself.
  @inlinable
  public var valuesByKey: [Key: Value] { self }
}

/// By comparison: a commit takes time linear in the number of elements. Where several have the same identity, the first
/// one counts.
extension Array: KeyedCollection where Element: Identifiable & Equatable {
  /// The identity of an element.
  public typealias ElementKey = Element.ID
  /// An element, with its identity.
  public typealias ElementValue = Element

  /// The first element with this identity; nil where there is none.
  @inlinable
  public func value(forKey key: Element.ID) -> Element? { first { $0.id == key } }

  /// The elements by their identity.
  @inlinable
  public var valuesByKey: [Element.ID: Element] {
    [Element.ID: Element](lazy.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
  }
}
