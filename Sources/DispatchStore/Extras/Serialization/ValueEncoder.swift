public import Foundation

/// An encoder of whole values, such as `JSONEncoder`, `PropertyListEncoder` or `PlainEncoder`.
///
/// If another encoder, such as one for YAML, has this method, let it conform by an empty extension.
public protocol ValueEncoder {
  /// The encoded form.
  associatedtype Output
  /// Encodes a value.
  func encode<Value: Encodable>(_ value: Value) throws -> Output
}

/// A decoder of whole values, such as `JSONDecoder`, `PropertyListDecoder` or `PlainDecoder`.
public protocol ValueDecoder {
  /// The encoded form.
  associatedtype Input
  /// Decodes a value.
  func decode<Value: Decodable>(_ type: Value.Type, from input: Input) throws -> Value
}

extension JSONEncoder: ValueEncoder {}
extension JSONDecoder: ValueDecoder {}
extension PropertyListEncoder: ValueEncoder {}
extension PropertyListDecoder: ValueDecoder {}
