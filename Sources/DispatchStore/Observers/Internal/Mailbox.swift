/// What an observer has kept and not been called with, in commit order, and whether a call is scheduled.
final class Mailbox<Notice: Sendable>: Sendable {
  private struct State {
    var notices = FIFO<Notice>()
    var isScheduled = false

    /// Whether the caller schedules a call.
    mutating func request() -> Bool {
      defer { isScheduled = true }
      return !isScheduled
    }
  }

  private let state = Locked(State())

  /// Adds a notice; whether a call is to be scheduled.
  func put(_ notice: Notice) -> Bool {
    state.withLock { state in
      state.notices.append(notice)
      return state.request()
    }
  }

  /// Whether a call is to be scheduled, where there is nothing to add.
  func request() -> Bool {
    state.withLock { $0.request() }
  }

  /// The next one; where there is none, no call is scheduled any longer.
  func take() -> Notice? {
    state.withLock { state in
      if state.notices.isEmpty { state.isScheduled = false }
      return state.notices.popFirst()
    }
  }

  /// The next one, where a condition holds for it; for one that is called without being scheduled.
  func take(where condition: (Notice) -> Bool) -> Notice? {
    state.withLock { state in
      guard let first = state.notices.first, condition(first) else { return nil }
      return state.notices.popFirst()
    }
  }

  /// All of them: the next one schedules another call.
  func takeAll() -> [Notice] {
    var notices = state.withLock { state in
      defer { state = State() }
      return state.notices
    }
    var all: [Notice] = []
    while let next = notices.popFirst() { all.append(next) }
    return all
  }
}
