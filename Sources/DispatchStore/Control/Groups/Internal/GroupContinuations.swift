/// The groups of a dispatcher that go on by themselves: from the end of a step to the start of the next one.
///
/// In that time no dispatch may be under way. Only a dispatcher whose groups are followed has this attachment, and it
/// knows the groups that were dispatched since.
final class GroupContinuations: DispatcherAttachment {
  private let state = Locked(State())

  private struct State {
    /// The number of threads that continue a group.
    var threads = 0
    /// The steps in flight, whose ends continue their groups.
    var steps: Set<DispatchID> = []
    var waiters: [@Sendable () -> Void] = []
  }

  /// Notes that a thread continues a group.
  func begin() { state.withLock { $0.threads += 1 } }

  /// Notes that the thread has dispatched what it could, or the group has ended.
  func end() { change { $0.threads -= 1 } }

  /// Notes a step in flight, before its end can continue the group.
  func add(_ step: DispatchID) { state.withLock { _ = $0.steps.insert(step) } }

  /// Forgets a step once its end has continued the group.
  func remove(_ step: DispatchID) { change { _ = $0.steps.remove(step) } }

  private func change(_ body: (inout State) -> Void) {
    let waiters = state.withLock { state -> [@Sendable () -> Void] in
      body(&state)
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter() }
  }

  /// Calls a closure once a group has gone on; returns false if none is about to.
  ///
  /// - Parameter delayed: The dispatches whose time has not come, for which their groups wait.
  func whenGoneOn(
    except delayed: Set<DispatchID>, _ body: @escaping @Sendable () -> Void
  ) -> Bool {
    state.withLock { state in
      guard state.threads > 0 || !state.steps.isSubset(of: delayed) else { return false }
      state.waiters.append(body)
      return true
    }
  }
}

extension Dispatcher {
  private var groupContinuations: GroupContinuations { attachment(orAdd: GroupContinuations()) }

  /// Notes how groups go on that are dispatched from now on, for `whenGroupGoesOn`.
  package func followGroups() { _ = groupContinuations }

  /// Calls a closure once a group has gone on after the end of a step; returns false if none is about to.
  ///
  /// A group whose running steps are all delayed is not about to.
  package func whenGroupGoesOn(_ body: @escaping @Sendable () -> Void) -> Bool {
    groupContinuations.whenGoneOn(except: delayedDispatches.waiting, body)
  }
}
