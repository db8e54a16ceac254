/// The number of terminal columns that a text takes.
enum TextWidth {
  /// The text, cut to a width; a cut text ends with `…`.
  static func fitted(_ text: String, _ columns: Int) -> String {
    guard width(of: text) > columns else { return text }
    guard columns > 0 else { return "" }
    var fitted = ""
    var rest = columns - 1
    for character in text {
      rest -= width(of: character)
      if rest < 0 { break }
      fitted.append(character)
    }
    return fitted + "…"
  }

  /// The text with spaces up to a width, or cut to it.
  static func padded(_ text: String, _ columns: Int) -> String {
    let fitted = fitted(text, columns)
    return fitted + String(repeating: " ", count: max(0, columns - width(of: fitted)))
  }

  static func width(of text: String) -> Int {
    text.reduce(0) { $0 + width(of: $1) }
  }

  /// The width: 2 for characters that East Asian typography and emoji make wide; terminals agree on nearly all of
  /// these.
  private static func width(of character: Character) -> Int {
    character.unicodeScalars.contains { scalar in
      wide.contains { $0.contains(scalar.value) } || scalar.properties.isEmojiPresentation
    } ? 2 : isVisible(character) ? 1 : 0
  }

  private static func isVisible(_ character: Character) -> Bool {
    character.unicodeScalars.contains { scalar in
      switch scalar.properties.generalCategory {
      case .nonspacingMark, .enclosingMark, .format, .control: false
      default: true
      }
    }
  }

  private static let wide: [ClosedRange<UInt32>] = [
    0x1100...0x115F, 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
    0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x20000...0x3FFFD,
  ]
}
