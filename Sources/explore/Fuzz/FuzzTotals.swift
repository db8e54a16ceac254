import Synchronization

/// The totals so far.
final class FuzzTotals: Sendable {
  private let name: String
  private let start = ContinuousClock.now
  /// Not `Shared`: a thread of another world may have the lock, for which no thread of this world could wait.
  private let counts = Mutex(Counts())

  struct Counts {
    var programs = 0
    var dispatches = 0
    var refusals = 0
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

  var line: String {
    let counts = counts.withLock(\.self)
    return "\(name): \(counts.programs) programs, \(counts.dispatches) dispatches, "
      + "\(counts.refusals) refusals, \(Program.seconds(since: start)) s"
  }
}
