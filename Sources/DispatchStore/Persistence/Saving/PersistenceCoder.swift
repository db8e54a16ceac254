public import Foundation

/// Encodes models and elements for their rows, and decodes them.
public protocol PersistenceCoder: Sendable {
  /// Encodes a value.
  func encode(_ value: some Encodable) throws -> Data

  /// Decodes a value.
  func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value
}

/// The default coder: JSON that gives back exactly what was encoded.
///
/// Dates are numbers, so that no fraction of a second is lost. Numbers that are not finite are the texts `nan`, `inf`
/// and `-inf`. Keys are sorted, so that equal values are equal rows.
public struct JSONPersistenceCoder: PersistenceCoder {
  private let encoder = JSONEncoder()
  private let decoder = JSONDecoder()

  /// Makes a coder.
  public init() {
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    decoder.nonConformingFloatDecodingStrategy = .convertFromString(
      positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
  }

  /// Encodes a value as JSON.
  public func encode(_ value: some Encodable) throws -> Data {
    let data = try encoder.encode(value)
    // Foundation encodes a `Decimal` that is no number as NaN, which it can't decode. Most rows have no N, and looking for
    // one costs a tenth of the search for the text.
    let hasN = data.withUnsafeBytes { $0.contains(UInt8(ascii: "N")) }
    if hasN, data.range(of: Data("NaN".utf8)) != nil, !isJSON(data) {
      let context = EncodingError.Context(
        codingPath: [], debugDescription: "A Decimal that is no number has no JSON.")
      throw EncodingError.invalidValue(value, context)
    }
    return data
  }

  private func isJSON(_ data: Data) -> Bool {
    (try? JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed)) != nil
  }

  /// Decodes a value from JSON.
  public func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
    try decoder.decode(type, from: data)
  }
}
