/// A path or a name as its bytes, which need not be UTF-8: values that differ in one byte are different, and
/// only output converts them to text.
///
/// The hash is computed once, because every store looks the value up.
struct ByteString: Sendable {
  let bytes: [UInt8]
  private let hash: Int

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    var hasher = Hasher()
    bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
    hash = hasher.finalize()
  }

  init(_ span: Span<UInt8>) {
    self.init(span.withUnsafeBufferPointer { [UInt8]($0) })
  }

  init(_ text: String) {
    self.init(Array(text.utf8))
  }

  /// The bytes as text, with U+FFFD in place of bytes that are not UTF-8.
  var text: String { String(decoding: bytes, as: UTF8.self) }

  /// The text on one line, safe to show on a terminal: control characters as `\u{1B}`.
  var description: String {
    var shown = ""
    for scalar in text.unicodeScalars {
      if scalar.properties.generalCategory == .control || scalar.properties.isBidiControl {
        shown += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
      } else {
        shown.unicodeScalars.append(scalar)
      }
    }
    return shown
  }

  /// The bytes before the first `separator`; nil if there is none.
  func prefix(before separator: UInt8) -> ByteString? {
    bytes.firstIndex(of: separator).map { ByteString(Array(bytes[..<$0])) }
  }

  func isEqual(to span: Span<UInt8>) -> Bool {
    span.withUnsafeBufferPointer { bytes.elementsEqual($0) }
  }
}

extension ByteString: Hashable {
  static func == (one: ByteString, other: ByteString) -> Bool {
    one.hash == other.hash && one.bytes == other.bytes
  }

  func hash(into hasher: inout Hasher) {
    hasher.combine(hash)
  }
}

extension ByteString: CustomReflectable {
  /// Without parts: a difference of two names is that of their texts, not of some of their bytes.
  var customMirror: Mirror { Mirror(self, children: [], displayStyle: .struct) }
}

extension ByteString: Comparable {
  static func < (one: ByteString, other: ByteString) -> Bool {
    one.bytes.lexicographicallyPrecedes(other.bytes)
  }
}

extension ByteString: ExpressibleByStringLiteral {
  init(stringLiteral text: String) {
    self.init(text)
  }
}
