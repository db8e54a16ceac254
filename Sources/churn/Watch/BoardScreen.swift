/// The output that shows one frame after the other.
///
/// On a terminal a frame replaces the previous one in place; elsewhere each frame is a line.
struct BoardScreen {
  /// Makes the cursor visible and lines wrap again, wherever the output was cut.
  static let restored: StaticString = "\u{1B}[?7h\u{1B}[?25h"

  let isTerminal: Bool
  private var shownLines = 0

  init(isTerminal: Bool) {
    self.isTerminal = isTerminal
  }

  /// The output before the first frame.
  var opening: String { isTerminal ? "\u{1B}[?25l" : "" }

  /// The output after the last frame.
  var closing: String { isTerminal ? "\(Self.restored)" : "" }

  mutating func text(of frame: BoardFrame, size: TextSize) -> String {
    guard isTerminal else { return "churn: \(BoardLayout.sentence(of: frame))\n" }
    let lines = BoardLayout(size: size).lines(of: frame)
    // Lines that don't wrap keep their number, even if the terminal takes a character to be wider than `TextWidth`
    // does.
    var text = "\u{1B}[?7l" + (shownLines > 0 ? "\u{1B}[\(shownLines)F" : "\r")
    for line in lines { text += "\(line)\u{1B}[K\n" }
    shownLines = lines.count
    return text + "\u{1B}[J\u{1B}[?7h"
  }
}
