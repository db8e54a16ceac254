#if SQLite
  /// Whether bytes are valid UTF-8.
  ///
  /// Most values are JSON in ASCII, so that eight bytes are looked at together. `UTF8Span` does the same, but is too new
  /// for the Apple systems that the library supports.
  func isUTF8(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var index = 0
    while index < bytes.count {
      if index + 8 <= bytes.count,
        bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self) & 0x8080_8080_8080_8080 == 0
      {
        index += 8
      } else if bytes[index] < 0x80 {
        index += 1
      } else if let length = lengthOfCharacter(in: bytes, at: index) {
        index += length
      } else {
        return false
      }
    }
    return true
  }

  /// The number of bytes of the valid character outside of ASCII that begins at an index.
  private func lengthOfCharacter(in bytes: UnsafeRawBufferPointer, at index: Int) -> Int? {
    // The second byte's range excludes overlong forms, surrogates, and all above U+10FFFF.
    let (length, second): (Int, ClosedRange<UInt8>)
    switch bytes[index] {
    case 0xC2...0xDF: (length, second) = (2, 0x80...0xBF)
    case 0xE0: (length, second) = (3, 0xA0...0xBF)
    case 0xED: (length, second) = (3, 0x80...0x9F)
    case 0xE1...0xEF: (length, second) = (3, 0x80...0xBF)
    case 0xF0: (length, second) = (4, 0x90...0xBF)
    case 0xF1...0xF3: (length, second) = (4, 0x80...0xBF)
    case 0xF4: (length, second) = (4, 0x80...0x8F)
    default: return nil
    }
    guard index + length <= bytes.count, second.contains(bytes[index + 1]) else { return nil }
    for next in (index + 2)..<(index + length) where bytes[next] & 0xC0 != 0x80 { return nil }
    return length
  }
#endif
