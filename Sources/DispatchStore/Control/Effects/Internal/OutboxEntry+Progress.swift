extension OutboxEntry {
  /// Whether a run does the work.
  enum Phase: Equatable {
    /// No run does. Can become running or done or, if the work has failed for good, reviving.
    case idle
    /// A run does. Can become ending, idle or done, or reviving if it has failed for good.
    case running
    /// The action that says that the work is done was dispatched, so the work can't be removed. Can become running if that
    /// action fails, idle or done.
    case ending
    /// A dead letter is to run again. Becomes idle at the last of so many ends: that of the call that saves it, and that
    /// of the run that has failed.
    case reviving(ends: Int)
    case done
  }

  /// How far the work has come, without threads.
  struct Progress {
    var attempts = 0
    /// The text of the last error.
    var error: String?
    /// When it failed for good, in milliseconds since 1970.
    var failed: Int64?
    /// Whether a process has left it, and has perhaps reached the outside world.
    private(set) var wasLeft = false
    /// Whether the attempt that is being made is counted among the attempts already.
    var isCounted = false
    private(set) var phase = Phase.idle

    /// Whether the work neither runs nor is done, and has not failed for good.
    var isIdle: Bool { phase == .idle && failed == nil }

    /// Begins a run; returns false if another one does the work or has done it.
    ///
    /// Returns false, too, if the work has failed for good since the caller found it.
    mutating func beginRun() -> Bool {
      guard isIdle else { return false }
      phase = .running
      return true
    }

    /// Makes a dead letter work again, which begins once it is saved and the run that has failed has ended; returns
    /// false if it is none.
    mutating func revive() -> Bool {
      guard failed != nil, phase != .done else { return false }
      self = Progress(wasLeft: wasLeft, phase: .reviving(ends: phase == .running ? 2 : 1))
      return true
    }

    /// Ends a run, or the call that saves a revived letter; returns whether the next run is to begin.
    mutating func endRun() -> Bool {
      switch phase {
      case .idle, .done:
        return false
      case .running, .ending:
        phase = .idle
        return false
      case .reviving(let ends):
        phase = ends > 1 ? .reviving(ends: ends - 1) : .idle
        return ends == 1
      }
    }

    /// Whether the row of an earlier moment is the row still.
    func hasRow(of earlier: Progress) -> Bool {
      if isPlanted(.letterReturns) { return true }
      return phase != .done && attempts == earlier.attempts && failed == earlier.failed
    }

    /// Lets the action be dispatched that says that the work is done; returns false if the work was removed.
    mutating func beginEnd() -> Bool {
      if phase == .done { return false }
      phase = .ending
      return true
    }

    /// Notes that the action has failed.
    mutating func endHasFailed() {
      if phase == .ending { phase = .running }
    }

    /// Notes that the work is done.
    mutating func end() { phase = .done }

    /// Ends a dead letter, or other work, that is to be done no longer; returns false if it is done or is about to be, or not
    /// of that kind.
    mutating func remove(isLetter: Bool) -> Bool {
      guard phase != .done, isLetter == (failed != nil) else { return false }
      if phase == .ending, !isPlanted(.removedAtEnd) { return false }
      phase = .done
      return true
    }

    /// Notes that the outside world was not reached before, so that it is not asked again.
    mutating func reconciled() { wasLeft = false }

    /// Makes work a dead letter, since nobody attempts it again; returns whether it was none.
    mutating func giveUp(at time: Int64) -> Bool {
      guard failed == nil, phase != .done else { return false }
      (failed, error) = (time, error ?? OutboxEntry.endOfDispatcher)
      return true
    }

    /// Counts an attempt before it is made; returns false if all are used up, so that the work has failed for good.
    mutating func countAhead(of limit: Int, at time: Int64) -> Bool {
      guard attempts < limit else {
        (failed, error) = (time, error ?? OutboxEntry.endOfProcess)
        return false
      }
      (attempts, isCounted) = (attempts + 1, true)
      return true
    }

    /// Takes back the count of an attempt that has neither succeeded nor failed; returns whether it was counted.
    mutating func uncount() -> Bool {
      guard isCounted else { return false }
      (attempts, isCounted) = (attempts - 1, false)
      return true
    }

    /// The state of work after an attempt has failed.
    enum Failure {
      case isRetried, isDeadLetter
      /// The work was removed during the attempt.
      case isRemoved
    }

    /// Notes a failed attempt.
    mutating func fail(_ error: String, of limit: Int, at time: Int64) -> Failure {
      if phase == .done { return .isRemoved }
      if !isCounted { attempts += 1 }
      isCounted = false
      self.error = error
      guard attempts >= limit else { return .isRetried }
      failed = time
      return .isDeadLetter
    }
  }
}
