/// A task's wait until everything is saved that was committed before.
final class SavingWait: Sendable {
  enum End {
    case saved(PersistenceError?)
    case timedOut
    case cancelled
  }

  let end = Eventual<End>()
  private let persistence: Persistence

  init(for persistence: Persistence) { self.persistence = persistence }

  func begin(timeout limit: Duration?) {
    let (waits, error) = persistence.state.withLock { state in
      state.commit.wait(for: self) { self.end.set(.saved($0)) }
    }
    guard waits else { return end.set(.saved(error)) }
    persistence.requestWriter()
    guard let limit, !end.isSet else { return }
    let (timers, now) = (persistence.timers, persistence.clock.nanoseconds)
    let timer = timers.add(at: now.addingClamped(limit.wholeNanoseconds)) {
      self.giveUp(.timedOut)
    }
    end.whenSet { _ in timers.remove(timer) }
  }

  /// Ends the wait before everything is saved.
  func giveUp(_ reason: End) {
    end.set(reason)
    persistence.state.withLock { $0.commit.noteGivenUp() }
  }
}
