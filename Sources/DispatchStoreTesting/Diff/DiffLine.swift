/// One line of a difference.
struct DiffLine {
  enum Mark: String {
    case same = "  "
    case expected = "− "
    case actual = "+ "
  }

  let mark: Mark
  let depth: Int
  let text: String

  init(_ mark: Mark = .same, _ depth: Int, _ text: String) {
    self.mark = mark
    self.depth = depth
    self.text = text
  }

  static func unchanged(_ count: Int, _ depth: Int) -> DiffLine {
    DiffLine(.same, depth, "… \(count) unchanged")
  }

  private var indented: String { String(repeating: "  ", count: depth) + text }

  static func text(_ lines: [DiffLine]) -> String {
    lines.map { $0.mark.rawValue + $0.indented }.joined(separator: "\n")
  }

  static func plainText(_ lines: [DiffLine]) -> String {
    lines.map(\.indented).joined(separator: "\n")
  }
}
