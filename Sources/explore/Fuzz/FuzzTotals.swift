import Foundation
import Synchronization

/// The totals so far; writes it to standard error every few seconds.
final class FuzzTotals: Sendable {
  private let name: String
  private let start = ContinuousClock.now
  /// Not `Shared`: a thread of another world may have the lock, for which no thread of this world could wait.
  private let counts = Mutex(Counts())
  private static let interval = Duration.seconds(5)

  struct Counts {
    var programs = 0
    var dispatches = 0
    var refusals = 0
    var shown = ContinuousClock.now
  }

  init(_ name: String) {
    self.name = name
  }

  func add(_ outcome: FuzzOutcome) {
    counts.withLock {
      $0.programs += 1
      $0.dispatches += outcome.dispatchCount
      $0.refusals += outcome.refusalCount
    }
  }

  func showProgress() {
    let isDue = counts.withLock { counts -> Bool in
      guard .now - counts.shown > Self.interval else { return false }
      counts.shown = .now
      return true
    }
    if isDue { try? FileHandle.standardError.write(contentsOf: Data("\(line)\n".utf8)) }
  }

  var line: String {
    let counts = counts.withLock(\.self)
    return "\(name): \(counts.programs) programs, \(counts.dispatches) dispatches, "
      + "\(counts.refusals) refusals, \(Program.seconds(since: start)) s"
  }
}
