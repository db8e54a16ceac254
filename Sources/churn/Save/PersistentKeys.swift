import DispatchStore

// In a database, bytes are text: those that are no plain characters as %E4, so that different bytes have different texts
// in each normal form.
extension ByteString: PersistentKey {
  var persistentText: String {
    var text = ""
    for byte in bytes {
      if Self.isPlain(byte) {
        text.unicodeScalars.append(Unicode.Scalar(byte))
      } else {
        text += (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
      }
    }
    return text
  }

  static func key(ofPersistentText text: String) -> ByteString? {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) else {
        return nil
      }
      bytes.append(value)
      rest = rest.dropFirst(2)
    }
    return ByteString(bytes)
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    (0x20..<0x7F).contains(byte) && byte != UInt8(ascii: "%")
  }
}

extension ByteString: Codable {
  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let value = Self.key(ofPersistentText: try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "After % come two hexadecimal digits.")
    }
    self = value
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(persistentText)
  }
}

extension Path: PersistentKey {
  var persistentText: String { "\(copy)/\(name.persistentText)" }

  static func key(ofPersistentText text: String) -> Path? {
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let copy = Int(parts[0]),
      let name = ByteString.key(ofPersistentText: String(parts[1]))
    else { return nil }
    return Path(name, copy: copy)
  }
}

extension Day: PersistentKey {
  var persistentText: String { String(number) }

  static func key(ofPersistentText text: String) -> Day? { Int(text).map(Day.init(number:)) }
}
