public import Foundation

/// An encoder of whole values, such as `JSONEncoder`, `PropertyListEncoder` or `PlainEncoder`.
///
/// Another one, such as one for YAML, conforms by an empty extension where it has this method.
public protocol ValueEncoder {
  /// What it encodes into.
  associatedtype Output
  /// Encodes a value.
  func encode<Value: Encodable>(_ value: Value) throws -> Output
}

/// A decoder of whole values, such as `JSONDecoder`, `PropertyListDecoder` or `PlainDecoder`.
public protocol ValueDecoder {
  /// What it decodes.
  associatedtype Input
  /// Decodes a value.
  func decode<Value: Decodable>(_ type: Value.Type, from input: Input) throws -> Value
}

extension JSONEncoder: ValueEncoder {}
extension JSONDecoder: ValueDecoder {}
extension PropertyListEncoder: ValueEncoder {}
extension PropertyListDecoder: ValueDecoder {}
