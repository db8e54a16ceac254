import Foundation

@testable import churn

/// Keeps what is written, for a test to look at.
final class CollectedOutput: TextOutput, @unchecked Sendable {
  // Unchecked because: `collected` is only touched while `lock` is held.
  private let lock = NSLock()
  private var collected = ""

  let isTerminal: Bool
  let size = TextSize(columns: 80, rows: 24)

  init(isTerminal: Bool = false) {
    self.isTerminal = isTerminal
  }

  var text: String { lock.withLock { collected } }

  func write(_ text: String) {
    lock.withLock { collected += text }
  }
}
