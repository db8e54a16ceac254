/// Refuses dispatches to a dependency that fails, until that has had a pause.
///
///     let bank = CircuitBreaker(failures: 5, pause: .seconds(30), name: "bank")
///     await shop.send(Charge(order), options: [.guarded(by: bank), .timeout(.seconds(2))])
///
/// It begins **closed**, and lets every dispatch pass. After a number of failures in a row it is **open**, and refuses
/// each dispatch with a `DispatchError` of the code `circuitOpen`. After the pause it is **half-open**: the next
/// dispatches are trials. Once all of them have succeeded it is closed; the first that fails opens it again.
///
/// A dispatch that began before the last change counts no longer when it ends. Make one breaker for each dependency.
/// Several dispatchers may share it if they have the same clock.
public final class CircuitBreaker: Sendable {
  /// The states of a breaker: how it treats the dispatches that come.
  public enum State: Sendable, Hashable, CaseIterable {
    /// All pass.
    case closed
    /// All are refused until the pause has passed; the next dispatch after that makes it half-open.
    case open
    /// Trials pass, and all others are refused.
    case halfOpen
  }

  /// The figures of a breaker at one instant.
  public struct Statistics: Sendable, Equatable {
    /// The present state.
    public let state: State
    /// The number of failures in a row; zero unless it is closed.
    public let consecutiveFailures: Int
    /// The number of trials in flight; zero unless it is half-open.
    public let trialsInFlight: Int
    /// The number of dispatches that were admitted so far.
    public let admitted: Int
    /// The number of dispatches rejected so far.
    public let rejected: Int
    /// The number of times it has opened so far.
    public let openings: Int
  }

  private struct Guarded {
    var state: BreakerState
    /// The clock of the first dispatcher that uses the breaker.
    var clock: DispatcherClock?
    var admitted = 0
    var rejected = 0
  }

  /// The name in messages.
  public let name: String
  private let guarded: Locked<Guarded>
  private let changes = Mailbox<State>()
  private let isFailure: @Sendable (any Error) -> Bool
  private let onChange: (@Sendable (State) -> Void)?

  /// Makes a breaker, which is closed.
  ///
  /// - Parameters:
  ///   - failures: The number of failures in a row after which it opens; positive.
  ///   - pause: The time for which it is open then, by the dispatcher's clock; positive.
  ///   - trials: The number of dispatches that pass after the pause, and all have to succeed; positive.
  ///   - name: The name in messages.
  ///   - isFailure: Whether an error that a store throws is a failure of the dependency; if not, it counts as a success,
  ///     since the dependency has answered. A time-out of the dispatch is a failure if a store had begun; of a list, any
  ///     is one. No other error of the library counts, also if a handler throws that of a dispatch that it has sent. Nor
  ///     does cancellation, nor an error of a dispatch that was cancelled.
  ///     Called when a dispatch ends, before its completion, under no lock.
  ///   - onChange: Called with each new state in order, on the thread that has changed it, under no lock. Never called
  ///     twice at once.
  public init(
    failures: Int = 5, pause: Duration = .seconds(30), trials: Int = 1,
    name: String = "circuit breaker",
    isFailure: @escaping @Sendable (any Error) -> Bool = { _ in true },
    onChange: (@Sendable (State) -> Void)? = nil
  ) {
    if failures < 1 || trials < 1 {
      stopProgram(
        """
        The circuit breaker "\(name)" was made with \(failures) failures and \(trials) trials, with which it could \
        never close. Both are 1 at least.
        """)
    }
    if pause.wholeNanoseconds < 1 {
      stopProgram(
        """
        The circuit breaker "\(name)" was made with a pause of \(pause), so that it would refuse nothing. It is a \
        nanosecond at least.
        """)
    }
    self.name = name
    self.isFailure = isFailure
    self.onChange = onChange
    guarded = Locked(
      Guarded(
        state: BreakerState(failures: failures, pause: pause.wholeNanoseconds, trials: trials)))
  }

  /// The present state.
  ///
  /// It is `open` until a dispatch comes, also after the pause.
  public var state: State { guarded.withLock(\.state.state) }

  /// The present figures.
  public var statistics: Statistics {
    guarded.withLock { guarded in
      Statistics(
        state: guarded.state.state, consecutiveFailures: guarded.state.consecutiveFailures,
        trialsInFlight: guarded.state.trialsInFlight, admitted: guarded.admitted,
        rejected: guarded.rejected, openings: guarded.state.openingCount)
    }
  }

  // MARK: Dispatches

  /// The time for which a dispatch would be refused now; nil if it may begin, or may be a trial.
  func pauseLeft(for dispatcher: Dispatcher) -> Int64? {
    let now = clock(for: dispatcher).nanoseconds
    yieldPoint(.askBreaker, name)
    return guarded.withLock { guarded in
      let left = guarded.state.pauseLeft(at: now)
      if left != nil { guarded.rejected += 1 }
      return left
    }
  }

  /// Decides whether a dispatch begins now.
  func enter(for dispatcher: Dispatcher) -> BreakerState.Entry {
    let now = clock(for: dispatcher).nanoseconds
    yieldPoint(.askBreaker, name)
    return change { guarded in
      let entry = guarded.state.enter(at: now)
      if case .pass = entry { guarded.admitted += 1 } else { guarded.rejected += 1 }
      return entry
    }
  }

  /// Notes how a dispatch that has passed has ended; without a result, it has not begun.
  ///
  /// - Parameters:
  ///   - wasCancelled: Whether the dispatch, or the task that has sent it, was cancelled, for whatever reason.
  ///   - hasTimedOut: Whether its own deadline has passed before its end.
  ///   - isFirst: Called under the lock; returns whether this is the dispatch's first report.
  func report(
    _ result: DispatchResult?, of pass: BreakerState.Pass, wasCancelled: Bool = false,
    hasTimedOut: Bool = false, if isFirst: () -> Bool = { true }
  ) {
    let verdict = result.map { self.verdict(on: $0, wasCancelled, hasTimedOut) } ?? .none
    guard let now = guarded.withLock(\.clock)?.nanoseconds else { return }
    yieldPoint(.askBreaker, name)
    change { guarded in
      guard isFirst() else { return }
      if result == nil { guarded.admitted -= 1 }
      guarded.state.report(verdict, of: pass, at: now)
    }
  }

  private func verdict(
    on result: DispatchResult, _ wasCancelled: Bool, _ hasTimedOut: Bool
  ) -> BreakerState.Verdict {
    guard hasTimedOut, let error = result.dispatchError, error.code == .timedOut else {
      // Client libraries tell with errors of their own that their task was cancelled.
      return wasCancelled && !result.isSuccess ? .none : verdict(of: result.error)
    }
    // The dependency has answered, and the database is slow.
    if error.isAfterCommit {
      return verdict(of: result.stores.lazy.compactMap(\.outcome.error).first)
    }
    return result.mayHaveStarted ? .failure : .none
  }

  private func verdict(of error: (any Error)?) -> BreakerState.Verdict {
    switch error {
    case nil: .success
    // The library's errors may be those of dispatches that the handler has sent.
    case is DispatchError, is CancellationError: .none
    case let error?: isFailure(error) ? .failure : .success
    }
  }

  private func clock(for dispatcher: Dispatcher) -> DispatcherClock {
    let own = dispatcher.clock
    return guarded.withLock { guarded in
      if let present = guarded.clock { return present }
      guarded.clock = own
      return own
    }
  }

  /// Makes a transition, and notifies of the change of state, if there is one.
  private func change<Result>(_ body: (inout Guarded) -> Result) -> Result {
    let (result, isToNotify) = guarded.withLock { guarded in
      let before = guarded.state.state
      let result = body(&guarded)
      let after = guarded.state.state
      // Enqueued under the lock, so that the changes come in order.
      return (result, after != before && onChange != nil && changes.put(after))
    }
    if isToNotify, let onChange { changes.deliver(onChange) }
    return result
  }
}
