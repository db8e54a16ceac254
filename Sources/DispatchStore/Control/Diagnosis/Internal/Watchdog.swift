import Synchronization

/// Takes a diagnosis once a dispatch has not moved for a limit; see `Dispatcher.watchdog(after:report:)`.
final class Watchdog: InFlightWatchdog {
  private let limit: Int64
  private let body: (@Sendable (Diagnosis) -> Void)?
  /// Whether a timer is set, or a check under way that sets the next one.
  private let isArmed = Atomic(false)
  private let state = Locked(State())
  private weak let dispatcher: Dispatcher?

  private struct State {
    var isCancelled = false
    var timer: TimerToken?
    var stalls = StallRecord()
  }

  init(of dispatcher: Dispatcher, limit: Duration, report: (@Sendable (Diagnosis) -> Void)?) {
    if limit <= .zero {
      stopProgram("A watchdog was set with a limit of \(limit). It needs more than zero.")
    }
    self.limit = limit.wholeNanoseconds
    body = report
    self.dispatcher = dispatcher
  }

  func cancel() {
    let timer = state.withLock { state in
      state.isCancelled = true
      return state.timer.take()
    }
    if let timer { dispatcher?.timers.remove(timer) }
  }

  deinit {
    cancel()
  }
}

// MARK: - Its timer

extension Watchdog {
  func arm(for dispatcher: Dispatcher) {
    // Either this thread sees that no timer is set, or the resting check finds the trace at its second look.
    if isArmed.load(ordering: .sequentiallyConsistent) { return }
    guard !isArmed.exchange(true, ordering: .sequentiallyConsistent) else { return }
    setTimer(for: dispatcher, after: limit)
  }

  private func setTimer(for dispatcher: Dispatcher, after time: Int64) {
    if state.withLock(\.isCancelled) { return }
    let deadline = dispatcher.clock.nanoseconds.addingClamped(time)
    let timer = dispatcher.timers.add(at: deadline) { [weak self] in self?.timerFired() }
    let isCancelled = state.withLock { state in
      state.timer = timer
      return state.isCancelled
    }
    if isCancelled { dispatcher.timers.remove(timer) }
  }

  /// Looks for due stalls on a thread of the clock, and leaves the diagnosis to another thread.
  private func timerFired() {
    guard let dispatcher, !state.withLock(\.isCancelled), let table = dispatcher.inFlightTable
    else { return }
    let now = dispatcher.clock.nanoseconds
    let traces = table.all
    if traces.isEmpty { return rest(dispatcher, table) }
    let (due, next) = state.withLock { state in
      state.stalls.due(traces.map(Stall.init), at: now, limit: limit)
    }
    if due.isEmpty { return setTimer(for: dispatcher, after: pause(until: next, at: now)) }
    HelperThreads.run(in: dispatcher.pool.world) { self.check(due, dispatcher, table) }
  }

  /// Rests: sets no timer until a dispatch is in flight again.
  private func rest(_ dispatcher: Dispatcher, _ table: InFlightTable) {
    if isPlanted(.lostWatch) { yieldPoint(.restWatchdog) }
    isArmed.store(false, ordering: .sequentiallyConsistent)
    yieldPoint(.restWatchdog)
    if table.count > 0, !isPlanted(.lostWatch) { arm(for: dispatcher) }
  }

  private func pause(until next: Int64, at now: Int64) -> Int64 {
    max(next - now, limit / 8, 1)
  }

  /// Takes a diagnosis, and decides whether it is reported.
  private func check(_ due: [Stall], _ dispatcher: Dispatcher, _ table: InFlightTable) {
    let diagnosis = Diagnosis.of(dispatcher, table: table, suspectingAfter: limit)
    let present = table.all.map(Stall.init)
    // A dispatch may have moved while the diagnosis was taken.
    let unmoved = due.filter(Set(present).contains)
    let now = dispatcher.clock.nanoseconds
    let (isReported, next) = state.withLock { state in
      let isReported = state.stalls.note(unmoved, in: diagnosis, at: now, limit: limit)
      let (_, next) = state.stalls.due(present, at: now, limit: limit)
      return (isReported && !state.isCancelled, next)
    }
    if present.isEmpty {
      rest(dispatcher, table)
    } else {
      setTimer(for: dispatcher, after: pause(until: next, at: now))
    }
    guard isReported else { return }
    if let body { return body(diagnosis) }
    dispatcher.report(
      .stalled, "Nothing has moved for \(Duration.nanoseconds(limit).inWords).\n\(diagnosis)")
  }
}
