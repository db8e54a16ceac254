/// A value of a JSON document.
///
/// Unlike a dictionary of strings, an object keeps its members in order, and keeps names apart that are different
/// bytes for the same letters.
indirect enum JSONValue {
  case null
  case bool(Bool)
  case int(Int)
  case double(Double)
  case string(String)
  case array([JSONValue])
  case object([(name: String, value: JSONValue)])

  /// The document, a line for each member and element.
  var text: String {
    var text = ""
    write(to: &text, indentation: "")
    return text + "\n"
  }

  /// The document on one line, without a newline.
  var line: String {
    var text = ""
    write(to: &text, indentation: nil)
    return text
  }

  /// - Parameter indentation: That of the line on which the value begins; nil to write all on one line.
  private func write(to text: inout String, indentation: String?) {
    switch self {
    case .null: text += "null"
    case .bool(let value): text += value ? "true" : "false"
    case .int(let value): text += String(value)
    case .double(let value): text += value.isFinite ? "\(value)" : "null"
    case .string(let value): Self.writeQuoted(value, to: &text)
    case .array(let elements):
      Self.writeList(elements, in: ("[", "]"), to: &text, indentation) { element, text, inner in
        element.write(to: &text, indentation: inner)
      }
    case .object(let members):
      Self.writeList(members, in: ("{", "}"), to: &text, indentation) { member, text, inner in
        Self.writeQuoted(member.name, to: &text)
        text += inner == nil ? ":" : ": "
        member.value.write(to: &text, indentation: inner)
      }
    }
  }

  private static func writeList<Element>(
    _ elements: [Element], in brackets: (open: String, close: String), to text: inout String,
    _ indentation: String?, _ write: (Element, inout String, String?) -> Void
  ) {
    let inner = indentation.map { $0 + "  " }
    text += brackets.open
    for (index, element) in elements.enumerated() {
      if index > 0 { text += "," }
      if let inner { text += "\n" + inner }
      write(element, &text, inner)
    }
    if let indentation, !elements.isEmpty { text += "\n" + indentation }
    text += brackets.close
  }

  private static func writeQuoted(_ value: String, to text: inout String) {
    text += "\""
    defer { text += "\"" }
    // Nearly always, and many times as fast as the loop.
    if value.utf8.allSatisfy({ $0 >= 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") })
    {
      text += value
      return
    }
    for scalar in value.unicodeScalars {
      switch scalar {
      case "\"": text += "\\\""
      case "\\": text += "\\\\"
      case "\u{0}"..."\u{1F}":
        let digits = String(scalar.value, radix: 16)
        text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: text.unicodeScalars.append(scalar)
      }
    }
  }
}
