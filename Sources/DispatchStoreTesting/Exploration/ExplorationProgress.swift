import Foundation

/// Writes the progress of an exploration to standard error, every few seconds.
package final class ExplorationProgress: @unchecked Sendable {  // because one thread calls it
  private let name: String
  private let total: Int
  private let start = ContinuousClock.now
  private var shown = ContinuousClock.now
  private static let interval = Duration.seconds(5)

  package init(_ name: String, of total: Int) {
    self.name = name
    self.total = total
  }

  package func show(_ count: Int) {
    guard count < total, .now - shown > Self.interval else { return }
    shown = .now
    let rate = Double(count) / ((.now - start) / .seconds(1))
    let left = Int(Double(total - count) / max(rate, 1))
    write("\(count) of \(total) seeds, \(Int(rate)) a second, \(left) s left")
  }

  /// Says that the rest of the seeds is not run, since the exploration returns as if they had passed.
  func noteCancellation(after count: Int) {
    write("cancelled after \(count) of \(total) seeds")
  }

  private func write(_ text: String) {
    try? FileHandle.standardError.write(contentsOf: Data("\(name): \(text)\n".utf8))
  }
}
