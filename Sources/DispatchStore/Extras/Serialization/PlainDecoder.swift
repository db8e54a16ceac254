import Foundation

/// Decodes any `Decodable` value from a tree of plain values.
///
/// A tree that comes from JSON has no dates, no data and no decimals: they are decoded from seconds since 2001, from base64
/// and from numbers, as `JSONEncoder` writes them.
public struct PlainDecoder {
  /// Information for types that read it while they are decoded.
  public var userInfo: [CodingUserInfoKey: any Sendable] = [:]

  /// Makes a decoder.
  public init() {}

  /// Decodes a value; throws a `DecodingError` with the place if the tree does not match.
  public func decode<Value: Decodable>(
    _ type: Value.Type, from input: PlainValue
  ) throws -> Value {
    try PlainDecoding(value: input, codingPath: [], userInfo: userInfo).decode(type)
  }
}

// Each generic method also implements the requirements for all scalar types.
private struct PlainDecoding: Decoder, SingleValueDecodingContainer {
  let value: PlainValue
  let codingPath: [any CodingKey]
  let userInfo: [CodingUserInfoKey: Any]

  func at(_ value: PlainValue, _ key: any CodingKey) -> PlainDecoding {
    PlainDecoding(value: value, codingPath: codingPath + [key], userInfo: userInfo)
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    guard case .object(let values) = value else {
      throw mismatch([String: PlainValue].self)
    }
    return KeyedDecodingContainer(PlainKeyedDecoding(decoding: self, values: values))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    guard case .array(let values) = value else { throw mismatch([PlainValue].self) }
    return PlainUnkeyedDecoding(decoding: self, values: values)
  }

  func singleValueContainer() -> any SingleValueDecodingContainer { self }

  func decodeNil() -> Bool { value == .null }

  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    // Other encoders than JSON's have the parts of a decimal.
    if type == Decimal.self, let number = decimal as? Value { return number }
    if !Self.isScalar(type) { return try type.init(from: self) }
    guard let scalar = scalar(type) as? Value else { throw mismatch(type) }
    return scalar
  }

  /// Whether the tree stores values of this type; calling `init(from:)` of such a type would recurse without end.
  private static func isScalar(_ type: any Any.Type) -> Bool {
    type is any BinaryInteger.Type
      || type == Bool.self || type == Double.self || type == Float.self || type == String.self
      || type == Data.self || type == Date.self || type == URL.self || type == PlainValue.self
  }

  private func scalar(_ type: any Any.Type) -> Any? {
    if type == PlainValue.self { return value }
    if let type = type as? any BinaryInteger.Type { return integer(type) }
    switch value {
    case .bool(let value) where type == Bool.self: return value
    case .string(let value) where type == String.self: return value
    case .string(let value) where type == URL.self: return URL(string: value)
    case .data(let value) where type == Data.self: return value
    case .date(let value) where type == Date.self: return value
    case .string(let value) where type == Data.self: return Data(base64Encoded: value)
    default: break
    }
    guard let number else { return nil }
    if type == Date.self { return Date(timeIntervalSinceReferenceDate: number) }
    if type == Double.self { return number }
    return type == Float.self ? Float(number) : nil
  }

  private var number: Double? {
    switch value {
    case .double(let value): value
    // Rounded: JSON's text of a large double is that of another integer, which this double is next to.
    case .integer(let value): Double(value)
    case .unsigned(let value): Double(value)
    // JSON has no such numbers.
    case .string("inf"): .infinity
    case .string("-inf"): -.infinity
    case .string("nan"): .nan
    default: nil
    }
  }

  private var decimal: Decimal? {
    switch value {
    case .integer(let value): Decimal(value)
    case .unsigned(let value): Decimal(value)
    // The shortest digits of the number; a conversion would have more.
    case .double(let value): Decimal(string: "\(value)")
    default: nil
    }
  }

  private func integer<Integer: BinaryInteger>(_ type: Integer.Type) -> Integer? {
    switch value {
    case .integer(let value): Integer(exactly: value)
    case .unsigned(let value): Integer(exactly: value)
    case .double(let value): Integer(exactly: value)
    default: nil
    }
  }

  private func mismatch(_ type: any Any.Type) -> DecodingError {
    .typeMismatch(
      type,
      DecodingError.Context(
        codingPath: codingPath,
        debugDescription: "A \(type) is expected, and \(value.kind) is here: \(value)."))
  }
}

private struct PlainKeyedDecoding<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let decoding: PlainDecoding
  let values: [String: PlainValue]
  var codingPath: [any CodingKey] { decoding.codingPath }
  var allKeys: [Key] { values.keys.compactMap(Key.init(stringValue:)) }

  func contains(_ key: Key) -> Bool { values[key.stringValue] != nil }

  private func member(_ key: Key) throws -> PlainDecoding {
    guard let value = values[key.stringValue] else {
      throw DecodingError.keyNotFound(
        key,
        DecodingError.Context(
          codingPath: codingPath,
          debugDescription: "There is no \"\(key.stringValue)\" in \(decoding.value)."))
    }
    return decoding.at(value, key)
  }

  func decodeNil(forKey key: Key) throws -> Bool { try member(key).decodeNil() }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    try member(key).decode(type)
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> {
    try member(key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try member(key).unkeyedContainer()
  }

  func superDecoder() -> any Decoder {
    let key = PlainKey(stringValue: "super")
    return decoding.at(values[key.stringValue] ?? .null, key)
  }

  func superDecoder(forKey key: Key) -> any Decoder {
    decoding.at(values[key.stringValue] ?? .null, key)
  }
}

private struct PlainUnkeyedDecoding: UnkeyedDecodingContainer {
  let decoding: PlainDecoding
  let values: [PlainValue]
  private(set) var currentIndex = 0
  var codingPath: [any CodingKey] { decoding.codingPath }
  var count: Int? { values.count }
  var isAtEnd: Bool { currentIndex == values.count }

  /// Passes the present value to a closure, and moves on unless that throws.
  private mutating func next<Result>(
    _ type: any Any.Type, _ body: (PlainDecoding) throws -> Result
  ) throws -> Result {
    let result = try body(present(type))
    currentIndex += 1
    return result
  }

  private func present(_ type: any Any.Type) throws -> PlainDecoding {
    let key = PlainKey(intValue: currentIndex)
    guard !isAtEnd else {
      throw DecodingError.valueNotFound(
        type,
        DecodingError.Context(
          codingPath: codingPath + [key],
          debugDescription: "The array has no more than \(values.count) values."))
    }
    return decoding.at(values[currentIndex], key)
  }

  mutating func decodeNil() throws -> Bool {
    guard try present(PlainValue.self).decodeNil() else { return false }
    currentIndex += 1
    return true
  }

  mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    try next(type) { try $0.decode(type) }
  }

  mutating func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type
  ) throws -> KeyedDecodingContainer<Nested> {
    try next(type) { try $0.container(keyedBy: type) }
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try next([PlainValue].self) { try $0.unkeyedContainer() }
  }

  mutating func superDecoder() throws -> any Decoder { try next(PlainValue.self) { $0 } }
}
