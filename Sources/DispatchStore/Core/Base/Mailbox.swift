/// The notices that an observer has kept, in commit order, and whether a call is scheduled.
final class Mailbox<Notice: Sendable>: Sendable {
  private struct State {
    var notices = FIFO<Notice>()
    var isScheduled = false

    /// Returns whether the caller must schedule a call.
    mutating func request() -> Bool {
      defer { isScheduled = true }
      return !isScheduled
    }
  }

  private let state = Locked(State())

  /// Adds a notice.
  ///
  /// Returns whether the caller must schedule a call.
  func put(_ notice: Notice) -> Bool {
    state.withLock { state in
      state.notices.append(notice)
      return state.request()
    }
  }

  /// Takes back the only notice, so that the next one can be merged with it; `put(_:)` follows.
  func takeBack() -> Notice? {
    state.withLock { $0.notices.popFirst() }
  }

  /// Takes the next notice.
  ///
  /// If there is none, no call is scheduled any longer.
  func take() -> Notice? {
    state.withLock { state in
      if state.notices.isEmpty { state.isScheduled = false }
      return state.notices.popFirst()
    }
  }

  /// Hands over one notice after the other, for the caller that must schedule a call, until there is none.
  ///
  /// No other thread does so meanwhile: what it puts is handed over here, in order.
  func deliver(_ body: (Notice) -> Void) {
    while let notice = take() { body(notice) }
  }

  /// Takes the next notice if a condition holds for it.
  ///
  /// For an observer that is called without being scheduled.
  func take(where condition: (Notice) -> Bool) -> Notice? {
    state.withLock { state in
      guard let first = state.notices.first, condition(first) else { return nil }
      return state.notices.popFirst()
    }
  }

  /// Takes all notices.
  ///
  /// The next notice schedules another call.
  func takeAll() -> [Notice] {
    var notices = state.exchange(State()).notices
    var all: [Notice] = []
    while let next = notices.popFirst() { all.append(next) }
    return all
  }
}
