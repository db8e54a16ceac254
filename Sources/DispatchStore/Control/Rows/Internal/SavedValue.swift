import Foundation

/// An encoded value inside of a row, readable if it is text.
struct SavedValue: Codable, Sendable {
  let data: Data

  init(data: Data) { self.data = data }

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let text = try container.decode(String.self)
    guard text.hasPrefix(Self.binary) else {
      data = Data(text.utf8)
      return
    }
    guard let bytes = Data(base64Encoded: String(text.dropFirst(Self.binary.count))) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "It is no Base64.")
    }
    data = bytes
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    if let text = String(data: data, encoding: .utf8), !text.hasPrefix(Self.binary) {
      try container.encode(text)
    } else {
      try container.encode(Self.binary + data.base64EncodedString())
    }
  }

  /// Marks bytes that are no text.
  private static let binary = "base64:"
}

/// An action in a row, by its name.
struct SavedAction: Codable, Sendable {
  let name: String
  let value: SavedValue
}
