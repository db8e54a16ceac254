/// Everything that goes on by itself at a dispatcher, for a test that waits until nothing does.
///
/// Hooks tell a test of dispatches. Continuations tell it of the work between dispatches, when none may be in flight.
/// Only a dispatcher that is followed has them. They know only the work that has begun since.
class Continuations: @unchecked Sendable {
  // because it has only a constant
  private let state = Locked(State())

  private struct State {
    /// The number of threads, and of closures on their way to one, that may dispatch.
    var count = 0
    /// The dispatches whose ends continue something: a group, or a closure that awaits the end.
    var ends: [DispatchID: End] = [:]
    var waiters: [@Sendable () -> Void] = []
    var changeCount = 0
  }

  private struct End {
    let dispatch: Dispatch
    var count = 0
  }

  private func change(_ body: (inout State) -> Void) {
    let waiters = state.withLock { state -> [@Sendable () -> Void] in
      body(&state)
      state.changeCount += 1
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter() }
  }

  // MARK: What goes on

  /// Notes that a thread goes on with something.
  func begin() { change { $0.count += 1 } }

  /// Notes that the thread has dispatched what it could.
  func end() { change { $0.count -= 1 } }

  /// Notes a dispatch before its end can continue something.
  func add(_ dispatch: Dispatch) {
    change { $0.ends[dispatch.id, default: End(dispatch: dispatch)].count += 1 }
  }

  /// Forgets a dispatch once its end has continued that.
  func remove(_ id: DispatchID) {
    var removed: End?
    change { state in
      guard let end = state.ends[id] else { return }
      if end.count > 1 { state.ends[id]?.count -= 1 } else { state.ends[id] = nil }
      removed = end
    }
    // Released outside of the lock: a reply's deinitialization is code of the program.
    withExtendedLifetime(removed) {}
  }

  /// Notes that something has changed that is known elsewhere, such as a run of an effect that has come to rest.
  func changed() { change { _ in } }

  // MARK: Questions

  /// Whether anything goes on, but for effects.
  ///
  /// A dispatch in `ends` does not count while it waits for time to pass.
  var isAnyUnderWay: Bool {
    let (count, awaited) = state.withLock { ($0.count, $0.ends.values.map(\.dispatch)) }
    return count > 0 || !awaited.allSatisfy(\.awaitsDelay)
  }

  /// Whether a run of an effect is about to enter its line.
  var isAnyRunAhead: Bool { false }

  /// The number of changes so far.
  var changeCount: Int { state.withLock(\.changeCount) }

  /// Calls a closure at the next change; returns the number of those before.
  func whenChanged(_ body: @escaping @Sendable () -> Void) -> Int {
    state.withLock { state in
      state.waiters.append(body)
      return state.changeCount
    }
  }
}
