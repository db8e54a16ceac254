import Foundation

/// Encodes any `Encodable` value as a tree of plain values, in memory.
public struct PlainEncoder {
  /// Information for types that read it while they are encoded.
  public var userInfo: [CodingUserInfoKey: any Sendable] = [:]

  /// Makes an encoder.
  public init() {}

  /// Encodes a value; throws the value's errors, and an `EncodingError` for an integer beyond 64 bits.
  public func encode<Value: Encodable>(_ value: Value) throws -> PlainValue {
    let encoding = PlainEncoding(node: PlainNode(), codingPath: [], userInfo: userInfo)
    try encoding.encode(value)
    return encoding.node.value
  }
}

/// A node of the tree under construction: what was encoded last, a value, an array or an object.
private final class PlainNode {
  private var scalar: PlainValue?
  private var elements: [PlainNode]?
  private var members: [String: PlainNode]?

  /// The encoded value; an empty object if nothing was encoded, as in other encoders.
  var value: PlainValue {
    if let scalar { return scalar }
    if let elements { return .array(elements.map(\.value)) }
    return .object(members?.mapValues(\.value) ?? [:])
  }

  var count: Int { elements?.count ?? 0 }

  func set(_ value: PlainValue) {
    (scalar, elements, members) = (value, nil, nil)
  }

  /// Begins an object, or continues one, because several containers of an encoder share it.
  func beginObject() {
    (scalar, elements, members) = (nil, nil, members ?? [:])
  }

  func beginArray() {
    (scalar, elements, members) = (nil, elements ?? [], nil)
  }

  func member(_ name: String) -> PlainNode {
    let node = PlainNode()
    members?[name] = node
    return node
  }

  /// Returns the node of a member that is a container: one that is taken again continues.
  func sharedMember(_ name: String) -> PlainNode { members?[name] ?? member(name) }

  func element() -> PlainNode {
    let node = PlainNode()
    elements?.append(node)
    return node
  }
}

// Each generic method also implements the requirements for all scalar types.
private struct PlainEncoding: Encoder, SingleValueEncodingContainer {
  let node: PlainNode
  let codingPath: [any CodingKey]
  let userInfo: [CodingUserInfoKey: Any]

  func at(_ node: PlainNode, _ key: any CodingKey) -> PlainEncoding {
    PlainEncoding(node: node, codingPath: codingPath + [key], userInfo: userInfo)
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    node.beginObject()
    return KeyedEncodingContainer(PlainKeyedEncoding(encoding: self))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    node.beginArray()
    return PlainUnkeyedEncoding(encoding: self)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { self }

  func encodeNil() { node.set(.null) }

  func encode<Value: Encodable>(_ value: Value) throws {
    switch value {
    case let value as PlainValue: node.set(value)
    case let value as Bool: node.set(.bool(value))
    case let value as any BinaryInteger:
      guard let integer = PlainValue(integer: value) else {
        throw EncodingError.invalidValue(
          value,
          EncodingError.Context(
            codingPath: codingPath,
            debugDescription: "\(value) has more than 64 bits, and a PlainValue has no more."))
      }
      node.set(integer)
    case let value as Double: node.set(.double(value))
    case let value as Float: node.set(.double(Double(value)))
    case let value as String: node.set(.string(value))
    case let value as Data: node.set(.data(value))
    case let value as Date: node.set(.date(value))
    case let value as URL: node.set(.string(value.absoluteString))
    default: try value.encode(to: self)
    }
  }
}

private struct PlainKeyedEncoding<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let encoding: PlainEncoding
  var codingPath: [any CodingKey] { encoding.codingPath }

  private func member(_ key: any CodingKey) -> PlainEncoding {
    encoding.at(encoding.node.member(key.stringValue), key)
  }

  private func sharedMember(_ key: Key) -> PlainEncoding {
    encoding.at(encoding.node.sharedMember(key.stringValue), key)
  }

  func encodeNil(forKey key: Key) { member(key).encodeNil() }

  func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
    try member(key).encode(value)
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) -> KeyedEncodingContainer<Nested> {
    sharedMember(key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    sharedMember(key).unkeyedContainer()
  }

  func superEncoder() -> any Encoder { member(PlainKey(stringValue: "super")) }

  func superEncoder(forKey key: Key) -> any Encoder { member(key) }
}

private struct PlainUnkeyedEncoding: UnkeyedEncodingContainer {
  let encoding: PlainEncoding
  var codingPath: [any CodingKey] { encoding.codingPath }
  var count: Int { encoding.node.count }

  private func element() -> PlainEncoding {
    let key = PlainKey(intValue: count)
    return encoding.at(encoding.node.element(), key)
  }

  func encodeNil() { element().encodeNil() }

  func encode<Value: Encodable>(_ value: Value) throws {
    try element().encode(value)
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type
  ) -> KeyedEncodingContainer<Nested> {
    element().container(keyedBy: type)
  }

  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { element().unkeyedContainer() }

  func superEncoder() -> any Encoder { element() }
}

/// The key of an array's element, or of a superclass.
struct PlainKey: CodingKey {
  let stringValue: String
  let intValue: Int?

  init(stringValue: String) {
    self.stringValue = stringValue
    intValue = nil
  }

  init(intValue: Int) {
    stringValue = "\(intValue)"
    self.intValue = intValue
  }
}
