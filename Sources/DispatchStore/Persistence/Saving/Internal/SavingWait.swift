/// A task's wait until everything is saved that was committed before, or until an errand has ended.
final class SavingWait: Sendable {
  enum End {
    case saved(PersistenceError?)
    case timedOut
    case cancelled
  }

  /// The longest time that a call may wait, and when that is over.
  struct Limit {
    let duration: Duration
    let deadline: Int64

    init?(_ duration: Duration?, _ clock: DispatcherClock) {
      guard let duration else { return nil }
      self.duration = duration
      deadline = clock.nanoseconds.addingClamped(duration.wholeNanoseconds)
    }
  }

  let end: Eventual<End>
  private let persistence: Persistence
  private let errand: DatabaseErrand?

  /// Makes a wait for commits, or for an errand that sets the given end.
  init(
    for persistence: Persistence, errand: DatabaseErrand? = nil, end: Eventual<End> = Eventual()
  ) {
    (self.persistence, self.errand, self.end) = (persistence, errand, end)
  }

  /// Waits until the end.
  ///
  /// - Throws: The error of saving, a `DispatchError` with the code `timedOut` after the limit, and `CancellationError` if
  ///   the task is cancelled.
  func run(within limit: Limit?) async throws {
    begin(within: limit)
    let reason = await withCancellationHandler {
      await end.value
    } onCancel: {
      giveUp(.cancelled)
    }
    switch reason {
    case .saved(let error): if let error { throw error }
    case .timedOut:
      let subject = errand == nil ? "What was committed" : "The log"
      throw DispatchError.notSaved(subject, in: limit!.duration, persistence.status)
    case .cancelled: throw CancellationError()
    }
  }

  func begin(within limit: Limit?) {
    let (waits, error) = persistence.state.withLock { state -> (Bool, PersistenceError?) in
      if let errand {
        let refusal = state.commit.add(errand)
        return (refusal == nil, refusal)
      }
      return state.commit.wait(for: self) { self.end.set(.saved($0)) }
    }
    guard waits else { return end.set(.saved(error)) }
    persistence.requestWriter()
    guard let limit, !end.isSet else { return }
    let timers = persistence.timers
    let timer = timers.add(at: limit.deadline) { self.giveUp(.timedOut) }
    end.whenSet { _ in timers.remove(timer) }
  }

  /// Ends the wait before everything is saved; an errand that is under way goes on.
  func giveUp(_ reason: End) {
    end.set(reason)
    persistence.state.withLock { state in
      if let errand { state.commit.remove(errand) } else { state.commit.noteGivenUp() }
    }
  }
}

extension DispatchError {
  fileprivate static func notSaved(
    _ subject: String, in limit: Duration, _ status: PersistenceStatus
  ) -> Self {
    let reason = status.lastError.map { ": \($0.message)" } ?? "."
    return DispatchError(
      code: .timedOut, message: "\(subject) was not saved in \(limit)\(reason)",
      cause: status.lastError, timeLimit: limit)
  }
}
