import Foundation

/// Encodes and decodes the rows of one store, with errors that name the row.
struct RowCoder {
  let coder: any PersistenceCoder
  let storeIdentifier: String
  let driver: any PersistenceDriver

  var database: String { driver.description }

  /// The size of the largest row, in bytes.
  ///
  /// At twice that PostgreSQL closes the connection, which would count as a lost one, again and again.
  private static let largestRow = 512 << 20

  /// Encodes a row, in the role of the writer.
  func encode(_ value: some Encodable, at key: () -> String?) throws -> Data {
    driver.keepLease()
    return try Self.row({ try coder.encode(value) }) {
      let row = key().map { ", element \($0)" } ?? ""
      return "Store \"\(storeIdentifier)\"\(row): the \(type(of: value))"
    }
  }

  /// Encodes a row; the error names the value if it can't be encoded, or is too large.
  static func row(_ encode: () throws -> Data, of name: () -> String) throws -> Data {
    let data: Data
    do {
      data = try encode()
    } catch {
      throw PersistenceError(
        .notEncodable, "\(name()) can't be encoded\(place(of: error)).", cause: error)
    }
    guard data.count <= largestRow else {
      throw PersistenceError(
        .notEncodable, "\(name()) has \(data.count >> 20) MiB as a row, which can have 512.")
    }
    return data
  }

  func noText(for key: some PersistentKey) -> PersistenceError {
    PersistenceError(
      .notEncodable,
      "Store \"\(storeIdentifier)\": the text of key \(key) has U+0000, which can't be saved.")
  }

  func decode<Value: Decodable>(
    _ type: Value.Type, _ data: Data, _ part: Int, _ key: String
  ) throws -> Value {
    do {
      return try coder.decode(type, from: data)
    } catch {
      throw notDecodable(part, key, "It is no \(type)\(Self.place(of: error)).", cause: error)
    }
  }

  func notDecodable(
    _ part: Int, _ key: String, _ reason: String, cause: (any Error)? = nil
  ) -> PersistenceError {
    let row = part == 0 ? "the model" : "element \"\(key)\" of dictionary \(part)"
    return PersistenceError(
      .notDecodable,
      """
      \(database), table dispatchstore_rows, store "\(storeIdentifier)", \(row): the row can't be decoded. \(reason) \
      Nothing was changed. Repair the row, or add a migration if its value has another form now.
      """, cause: cause)
  }

  /// The place in a value where coding failed, and why.
  static func place(of error: any Error) -> String {
    let context: (path: [any CodingKey], text: String)
    switch error {
    case EncodingError.invalidValue(let value, let found):
      context = (found.codingPath, "\(value): \(found.debugDescription)")
    case DecodingError.keyNotFound(let key, let found):
      context = (found.codingPath, "it has no \"\(key.stringValue)\"")
    case DecodingError.typeMismatch(_, let found), DecodingError.valueNotFound(_, let found),
      DecodingError.dataCorrupted(let found):
      context = (found.codingPath, found.debugDescription)
    default:
      return ": \(error)"
    }
    let path = context.path.map(\.stringValue).joined(separator: ".")
    return (path.isEmpty ? "" : " at \(path)") + " (\(context.text))"
  }
}
