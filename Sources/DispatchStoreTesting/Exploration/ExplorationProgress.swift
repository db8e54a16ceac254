import Foundation

/// Writes the progress of an exploration to standard error, every few seconds.
package final class ExplorationProgress: @unchecked Sendable {  // because one thread calls it
  private let name: String
  private let total: Int
  private let start = ContinuousClock.now
  private var shown = (at: ContinuousClock.now, count: 0)
  private static let interval = Duration.seconds(5)

  package init(_ name: String, of total: Int) {
    self.name = name
    self.total = total
  }

  package func show(_ count: Int) {
    if let line = line(for: count, at: .now) { write(line) }
  }

  /// Returns the next line, if it is time for one; none as long as no further seed was run, as in a scenario that hangs.
  func line(for count: Int, at now: ContinuousClock.Instant) -> String? {
    guard count > shown.count, count < total, now - shown.at > Self.interval else { return nil }
    shown = (now, count)
    let rate = Double(count) / ((now - start) / .seconds(1))
    let speed = rate < 1 ? "" : ", \(Int(rate)) a second"
    return "\(count) of \(total) seeds\(speed), \(Int(Double(total - count) / rate)) s left"
  }

  /// Says that the rest of the seeds is not run, since the exploration returns as if they had passed.
  func noteCancellation(after count: Int) {
    write("cancelled after \(count) of \(total) seeds")
  }

  private func write(_ text: String) {
    try? FileHandle.standardError.write(contentsOf: Data("\(name): \(text)\n".utf8))
  }
}
