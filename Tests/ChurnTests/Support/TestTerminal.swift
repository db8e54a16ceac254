/// What a terminal shows after it has got a text: only the controls that the program uses.
struct TestTerminal {
  private(set) var lines: [String] = [""]
  private(set) var cursorIsHidden = false
  private(set) var wraps = true
  /// What it does not know.
  private(set) var unknown: [String] = []
  private var row = 0
  private var column = 0

  init(_ text: String) {
    var rest = text[...]
    while let character = rest.popFirst() {
      switch character {
      case "\u{1B}":
        let end = rest.firstIndex { $0.isLetter } ?? rest.index(before: rest.endIndex)
        control(String(rest[...end]))
        rest = rest[end...].dropFirst()
      case "\n": moveTo(row + 1)
      case "\r": column = 0
      default: put(character)
      }
    }
  }

  private mutating func control(_ sequence: String) {
    switch sequence {
    case "[?25l": cursorIsHidden = true
    case "[?25h": cursorIsHidden = false
    case "[?7l": wraps = false
    case "[?7h": wraps = true
    case "[K": lines[row] = String(lines[row].prefix(column))
    case "[J":
      lines[row] = String(lines[row].prefix(column))
      lines.removeSubrange((row + 1)...)
    default:
      guard sequence.hasSuffix("F"), let count = Int(sequence.dropFirst().dropLast()) else {
        return unknown.append(sequence)
      }
      moveTo(max(0, row - count))
    }
  }

  private mutating func moveTo(_ row: Int) {
    while lines.count <= row { lines.append("") }
    (self.row, column) = (row, 0)
  }

  private mutating func put(_ character: Character) {
    let line = Array(lines[row])
    lines[row] =
      String(line.prefix(column)) + String(character) + String(line.dropFirst(column + 1))
    column += 1
  }
}
