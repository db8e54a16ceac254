extension TrackedDictionary: KeyedCollection {
  /// Returns the element with this key; nil if there is none.
  @inlinable
  public func value(forKey key: Key) -> Value? { elements[key] }

  /// The elements as a plain dictionary, which shares their storage.
  @inlinable
  public var valuesByKey: [Key: Value] { elements }

  /// True, because the dictionary records the keys of changed elements.
  @inlinable
  public static var tracksChanges: Bool { true }

  /// Marks the current content, and starts recording changes, until a record would be larger than a new copy.
  @inlinable
  public func makeCheckpoint() -> TrackingCheckpoint {
    log.beginRecording()
    return log.position
  }

  /// Returns the elements that were changed since a checkpoint.
  ///
  /// The result is `.unknown` if this value does not derive from the checkpoint's value, or if more elements were
  /// changed than it has.
  @inlinable
  public func changes(since checkpoint: TrackingCheckpoint) -> KeyedChanges<Key, Value> {
    defer { log.markRead() }
    return log.entries(since: checkpoint).map { .touched($0) } ?? .unknown
  }

  /// Releases an observer's checkpoint; unless there is another observer, recording soon stops.
  public func release(_ checkpoint: TrackingCheckpoint) {
    log.readerHasGone()
  }
}

extension TrackedDictionary: Collection {
  /// An element with its key.
  public typealias Element = (key: Key, value: Value)
  /// A position, as in a dictionary.
  public typealias Index = Dictionary<Key, Value>.Index

  /// The position of the first element.
  @inlinable
  public var startIndex: Index { elements.startIndex }

  /// The position behind the last element.
  @inlinable
  public var endIndex: Index { elements.endIndex }

  /// The element at a position, with its key.
  @inlinable
  public subscript(position: Index) -> Element { elements[position] }

  /// Returns the position after another.
  @inlinable
  public func index(after index: Index) -> Index { elements.index(after: index) }

  /// Returns an iterator over the elements with their keys, in the order of the underlying dictionary.
  @inlinable
  public func makeIterator() -> Dictionary<Key, Value>.Iterator { elements.makeIterator() }

  /// The number of elements.
  @inlinable
  public var count: Int { elements.count }

  /// Whether there is no element.
  @inlinable
  public var isEmpty: Bool { elements.isEmpty }

  /// The keys, in no particular order.
  @inlinable
  public var keys: Dictionary<Key, Value>.Keys { elements.keys }

  /// The elements without their keys, in the order of `keys`.
  @inlinable
  public var values: Dictionary<Key, Value>.Values { elements.values }
}

extension TrackedDictionary: ExpressibleByDictionaryLiteral {
  /// Makes a dictionary with the literal's elements, whose keys must be unique.
  @inlinable
  public init(dictionaryLiteral elements: (Key, Value)...) {
    self.init(uniqueKeysWithValues: elements)
  }
}

extension TrackedDictionary: Equatable where Value: Equatable {
  /// Whether both have the same elements.
  @inlinable
  public static func == (one: Self, other: Self) -> Bool { one.elements == other.elements }
}

extension TrackedDictionary: Hashable where Value: Hashable {
  /// Hashes the elements.
  @inlinable
  public func hash(into hasher: inout Hasher) { hasher.combine(elements) }
}

extension TrackedDictionary: Encodable where Key: Encodable, Value: Encodable {
  /// Encodes the elements like a `Dictionary`.
  public func encode(to encoder: any Encoder) throws { try elements.encode(to: encoder) }
}

extension TrackedDictionary: Decodable where Key: Decodable, Value: Decodable {
  /// Decodes the elements like a `Dictionary`.
  public init(from decoder: any Decoder) throws {
    self.init(try Dictionary(from: decoder))
  }
}

extension TrackedDictionary: CustomStringConvertible, CustomReflectable {
  /// The description of the elements as a dictionary.
  public var description: String { elements.description }

  /// The mirror of the elements as a dictionary.
  public var customMirror: Mirror { elements.customMirror }
}
