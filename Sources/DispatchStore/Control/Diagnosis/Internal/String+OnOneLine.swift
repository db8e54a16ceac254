extension String {
  /// The string with its line breaks escaped, so that it takes one line of a log or a report.
  var onOneLine: String {
    contains(where: \.isNewline)
      ? split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        .joined(separator: "\\n")
      : self
  }

  /// The string on one line, with entity codes for characters that Mermaid would take for markup.
  package var escapedForMermaid: String {
    onOneLine.reduce(into: "") { result, character in
      switch character {
      case "\"", "#", "<", ">", "&", "`", "|", "[", "]", "{", "}", "\\":
        result += "#\(character.asciiValue!);"
      case _ where character.isControl: result += " "
      default: result.append(character)
      }
    }
  }
}

extension Character {
  /// Whether it has a control character in it, which graphs can't show.
  package var isControl: Bool { unicodeScalars.contains { $0.value < 32 } }
}
