import Foundation

@testable import churn

/// Keeps what is written, for a test to look at.
final class CollectedOutput: TextOutput, @unchecked Sendable {
  // Unchecked because: `collected` is only touched while `lock` is held.
  private let lock = NSLock()
  private var collected = ""

  let isTerminal: Bool

  /// Called with all that was written.
  private let note: @Sendable (String) -> Void

  init(isTerminal: Bool = false, note: @escaping @Sendable (String) -> Void = { _ in }) {
    (self.isTerminal, self.note) = (isTerminal, note)
  }

  var text: String { lock.withLock { collected } }

  func write(_ text: String) {
    lock.withLock { collected += text }
    note(text)
  }
}
