extension TrackedDictionary: KeyedCollection {
  /// Returns the element with this key; nil if there is none.
  @inlinable
  public func value(forKey key: Key) -> Value? { elements[key] }

  /// The elements as a plain dictionary, which shares their storage.
  @inlinable
  public var valuesByKey: [Key: Value] { elements }

  /// The changes since observers last read them.
  @inlinable
  public var recordedChanges: RecordedChanges<Key, Value>? { RecordedChanges(log) }
}

extension TrackedDictionary: Collection {
  /// The position of the first element.
  @inlinable
  public var startIndex: Dictionary<Key, Value>.Index { elements.startIndex }

  /// The position behind the last element.
  @inlinable
  public var endIndex: Dictionary<Key, Value>.Index { elements.endIndex }

  /// The element at a position, with its key.
  @inlinable
  public subscript(position: Dictionary<Key, Value>.Index) -> (key: Key, value: Value) {
    elements[position]
  }

  /// Returns the position after another.
  @inlinable
  public func index(after index: Dictionary<Key, Value>.Index) -> Dictionary<Key, Value>.Index {
    elements.index(after: index)
  }

  /// Returns an iterator over the elements with their keys, in the order of the underlying dictionary.
  @inlinable
  public func makeIterator() -> Dictionary<Key, Value>.Iterator { elements.makeIterator() }

  /// The number of elements.
  @inlinable
  public var count: Int { elements.count }

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
