/// A line of a difference.
package struct DiffLine {
  package enum Mark: String {
    case same = "  "
    case expected = "− "
    case actual = "+ "
  }

  package let mark: Mark
  package let depth: Int
  package let text: String

  package init(_ mark: Mark = .same, _ depth: Int, _ text: String) {
    self.mark = mark
    self.depth = depth
    self.text = text
  }

  package static func unchanged(_ count: Int, _ depth: Int) -> DiffLine {
    DiffLine(.same, depth, "… \(count) unchanged")
  }

  private var indented: String { String(repeating: "  ", count: depth) + text }

  package static func text(_ lines: [DiffLine]) -> String {
    lines.map { $0.mark.rawValue + $0.indented }.joined(separator: "\n")
  }

  package static func plainText(_ lines: [DiffLine]) -> String {
    lines.map(\.indented).joined(separator: "\n")
  }
}
