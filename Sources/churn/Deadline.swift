import Dispatch

/// The instant at which the program is to end.
struct Deadline: Sendable {
  private let seconds: Double
  private let instant: ContinuousClock.Instant

  /// - Parameter seconds: The time from now on.
  init(after seconds: Double) {
    self.seconds = seconds
    instant = .now + .seconds(seconds)
  }

  var hasPassed: Bool { ContinuousClock.now >= instant }

  /// The time until the deadline, rounded up; 0 if it has passed.
  var milliseconds: Int32 {
    let rest = (ContinuousClock.now.duration(to: instant) / .milliseconds(1)).rounded(.up)
    return Int32(min(max(0, rest), Double(Int32.max)))
  }

  /// Requests the end of the replays when the deadline passes.
  func request(_ stop: Stop) {
    // A queue of its own has a thread even if dispatches use all others.
    DispatchQueue(label: "churn.deadline").asyncAfter(
      deadline: .now() + .milliseconds(Int(milliseconds))
    ) { [weak stop] in
      stop?.request(.deadline)
    }
  }

  /// The failure of a task that the deadline ends before any replay.
  func failure(_ task: String) -> Failure {
    let text = Numbers.duration(UInt64(seconds * 1e9))
    return Failure(.temporaryFailure, "the deadline of \(text) has passed while \(task)")
  }
}
