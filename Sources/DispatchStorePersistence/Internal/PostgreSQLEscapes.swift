#if PostgreSQL || SIMULATION
  /// Writes a zero byte, which the server's text can't hold, as `\0`, and a backslash as two.
  func escaped(_ key: String) -> String {
    guard key.utf8.contains(where: { $0 == 0 || $0 == UInt8(ascii: "\\") }) else { return key }
    var text = ""
    // Not by characters: a backslash beside a combining mark is one with it.
    for character in key.unicodeScalars {
      switch character {
      case "\\": text += "\\\\"
      case "\0": text += "\\0"
      default: text.unicodeScalars.append(character)
      }
    }
    return text
  }

  func unescaped(_ key: String) -> String {
    guard key.utf8.contains(UInt8(ascii: "\\")) else { return key }
    var (text, isEscape) = ("", false)
    for character in key.unicodeScalars {
      switch (isEscape, character) {
      case (false, "\\"): isEscape = true
      case (true, "0"): (text, isEscape) = (text + "\0", false)
      default:
        text.unicodeScalars.append(character)
        isEscape = false
      }
    }
    return text
  }
#endif
