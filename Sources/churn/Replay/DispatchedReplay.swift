import DispatchStore

/// Replays a history through a dispatcher, in one of its modes.
struct DispatchedReplay: Replayer {
  let mode: Mode
  /// How many actions may be in flight at a time.
  let inFlight: Int
  private let producers: Producers
  private let middlewares: [any Middleware]

  /// - Parameter producers: How many threads or tasks dispatch; one in a mode that takes no more.
  init(mode: Mode, inFlight: Int, producers: Int = 1, middlewares: [any Middleware] = []) {
    self.mode = mode
    self.inFlight = inFlight
    // A task has one action in flight.
    let most = mode == .structured ? inFlight : .max
    self.producers = Producers(count: mode.takesSeveralProducers ? min(producers, most) : 1)
    self.middlewares = middlewares
  }

  var name: String { mode.rawValue }
  var keepsOrder: Bool { mode.keepsOrder }
  var hasStores: Bool { true }

  func replay(_ history: EventBatches, _ observers: [any ReplayObserver]) throws -> RunResult {
    let stores = Stores(
      middlewares: middlewares, areFollowed: observers.contains(where: \.followsAnswers))
    let limiter = InFlightLimiter(limit: inFlight)
    let measurement = try observers.observe(stores, mode.isLimited ? limiter : nil) {
      try dispatch(history, to: stores.dispatcher, limiter) {
        for observer in observers { try observer.check() }
      }
    }
    return RunResult(measurement: measurement, models: stores.models)
  }

  /// - Parameter batchHasEnded: Called after each batch, out of the measured time.
  private func dispatch(
    _ history: EventBatches, to dispatcher: Dispatcher, _ limiter: InFlightLimiter,
    batchHasEnded: () throws -> Void
  ) throws -> Measurement {
    let outcome = BatchOutcome(capacity: history.capacity)
    let replay = BatchReplay(
      mode: mode, dispatcher: dispatcher, limiter: limiter, outcome: outcome)
    var latencies = LatencyHistogram()
    var stopwatch = Stopwatch()
    try history.forEach { batch in
      let shares = producers.split(batch)
      // Made outside of the measured time, as the events of the plain loop are.
      let actions = batch.map(ReplayedAction.init)
      stopwatch.time {
        if mode == .structured {
          producers.runInTasks(shares) { await replay.send($0, of: actions) }
        } else {
          producers.run(shares) { replay.dispatch($0, of: actions) }
          replay.limiter.waitUntilIdle()
        }
      }
      outcome.add(batch.count, to: &latencies)
      if let failure = outcome.firstFailure { throw fault(failure.error, of: batch[failure.index]) }
      try batchHasEnded()
    }
    return Measurement(
      name: name, producers: producers.count, actions: history.eventCount,
      seconds: stopwatch.seconds, latencies: latencies)
  }

  private func fault(_ error: any Error, of event: Event) -> Failure {
    let action =
      switch event {
      case .changed(let change): "a change of '\(change.path.printable)'"
      case .committed(let commit): "a commit by '\(commit.author.printable)'"
      }
    return Failure(.software, "\(name): the dispatch of \(action) did not succeed: \(error)")
  }
}

/// The action that is dispatched for an event.
private enum ReplayedAction {
  case changed(Changed)
  case committed(Committed)

  init(_ event: Event) {
    switch event {
    case .changed(let change): self = .changed(Changed(change))
    case .committed(let commit): self = .committed(Committed(commit))
    }
  }
}

/// Dispatches the actions of a batch, and records how each ends.
private struct BatchReplay: Sendable {
  let mode: Mode
  let dispatcher: Dispatcher
  let limiter: InFlightLimiter
  let outcome: BatchOutcome

  /// Dispatches the events at these indices, in order.
  func dispatch(_ indices: [Int], of actions: [ReplayedAction]) {
    for index in indices {
      switch actions[index] {
      case .changed(let action): take(action, mode.scheduling(of: action.change), at: index)
      case .committed(let action): take(action, mode.scheduling(of: action.commit), at: index)
      }
    }
  }

  /// The same in a task, which goes on once each has ended.
  func send(_ indices: [Int], of actions: [ReplayedAction]) async {
    for index in indices {
      switch actions[index] {
      case .changed(let action): await send(action, mode.scheduling(of: action.change), at: index)
      case .committed(let action): await send(action, mode.scheduling(of: action.commit), at: index)
      }
    }
  }

  private func send<Action: ActionType>(
    _ action: Action, _ mode: Dispatcher.Mode, at index: Int
  ) async {
    let began = began(at: index)
    let result = await dispatcher.send(action, mode: mode)
    if let began { outcome.record(Stopwatch.now - began, at: index) }
    if let error = result.error { outcome.fail(at: index, error) }
  }

  private func take<Action: ActionType>(
    _ action: Action, _ scheduling: Dispatcher.Mode, at index: Int
  ) {
    if mode == .sync { run(action, at: index) } else { enqueue(action, scheduling, at: index) }
  }

  /// The action has ended when `dispatch` returns, so this needs neither the limiter nor a completion.
  private func run<Action: ActionType>(_ action: Action, at index: Int) {
    let began = began(at: index)
    let handle = dispatcher.dispatch(action: action, mode: .sync)
    if let began { outcome.record(Stopwatch.now - began, at: index) }
    if let error = handle.resultIfEnded?.error { outcome.fail(at: index, error) }
  }

  private func enqueue<Action: ActionType>(_ action: Action, _ mode: Dispatcher.Mode, at index: Int)
  {
    limiter.acquire()
    let began = began(at: index)
    // Unowned, because the threads would contend for the reference count; the replay keeps the outcome alive
    // until the last action has released the limiter.
    dispatcher.dispatch(action: action, mode: mode) { [limiter, unowned(unsafe) outcome] result in
      if let began { outcome.record(Stopwatch.now - began, at: index) }
      if let error = result.error { outcome.fail(at: index, error) }
      limiter.release()
    }
  }

  /// The time at which an action begins; nil where its latency is not measured.
  private func began(at index: Int) -> UInt64? {
    index.isMultiple(of: PlainLoop.sampling) ? Stopwatch.now : nil
  }
}
