extension TrackedDictionary: KeyedCollection {
  /// The element with this key; nil where there is none.
  @inlinable
  public func value(forKey key: Key) -> Value? { elements[key] }

  /// The elements as a plain dictionary, which shares their storage.
  @inlinable
  public var valuesByKey: [Key: Value] { elements }

  /// True: it notes the keys of elements that are changed.
  @inlinable
  public static var tracksChanges: Bool { true }

  /// The present content; from now on changes are noted, until they are more than a new copy would be.
  @inlinable
  public func makeCheckpoint() -> TrackingCheckpoint {
    log.beginRecording()
    return log.position
  }

  /// The elements that were changed since; unknown where this value has not come from the one of the checkpoint, or has
  /// been changed in more elements than it has.
  @inlinable
  public func changes(since checkpoint: TrackingCheckpoint) -> KeyedChanges<Key, Value> {
    defer { log.markRead() }
    return log.entries(since: checkpoint).map { .touched($0) } ?? .unknown
  }

  /// An observer has gone: unless there is another, changes are soon noted no longer.
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

  /// The position behind another.
  @inlinable
  public func index(after index: Index) -> Index { elements.index(after: index) }

  /// The elements with their keys, in the same order as in the dictionary's.
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

  /// The elements without their keys, in the same order as these.
  @inlinable
  public var values: Dictionary<Key, Value>.Values { elements.values }
}

extension TrackedDictionary: ExpressibleByDictionaryLiteral {
  /// Makes one with the literal's elements, whose keys must be unique.
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
  /// Encodes the elements, as a dictionary does.
  public func encode(to encoder: any Encoder) throws { try elements.encode(to: encoder) }
}

extension TrackedDictionary: Decodable where Key: Decodable, Value: Decodable {
  /// Decodes what a dictionary has encoded.
  public init(from decoder: any Decoder) throws {
    self.init(try Dictionary(from: decoder))
  }
}

extension TrackedDictionary: CustomStringConvertible, CustomReflectable {
  /// The elements, as a dictionary shows them.
  public var description: String { elements.description }

  /// The elements alone.
  public var customMirror: Mirror { elements.customMirror }
}
