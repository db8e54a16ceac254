import DispatchStore

/// Replays a history through a dispatcher, in one of its modes.
struct DispatchedReplay: Replayer {
  let mode: Mode
  /// How many actions may be unfinished at a time.
  let inFlight: Int
  private let producers: Producers
  private let middlewares: [any Middleware]

  /// - Parameter producers: The threads that dispatch; only one in a mode that takes no more.
  init(mode: Mode, inFlight: Int, producers: Int = 1, middlewares: [any Middleware] = []) {
    self.mode = mode
    self.inFlight = inFlight
    self.producers = Producers(count: mode.takesSeveralProducers ? producers : 1)
    self.middlewares = middlewares
  }

  var name: String { mode.rawValue }
  var keepsOrder: Bool { mode.keepsOrder }

  func replay(_ history: EventBatches) throws -> RunResult {
    let stores = Stores(middlewares: middlewares)
    let outcome = BatchOutcome(capacity: history.capacity)
    let replay = BatchReplay(
      mode: mode, dispatcher: stores.dispatcher, limiter: InFlightLimiter(limit: inFlight),
      outcome: outcome)
    var latencies = LatencyHistogram()
    var stopwatch = Stopwatch()
    try history.forEach { batch in
      let shares = producers.split(batch)
      // Made before, as the events of the plain loop are.
      let actions = batch.map(ReplayedAction.init)
      stopwatch.time {
        producers.run(shares) { replay.dispatch($0, of: actions) }
        replay.limiter.waitUntilIdle()
      }
      outcome.add(batch.count, to: &latencies)
      if let failure = outcome.firstFailure { throw fault(failure.error, of: batch[failure.place]) }
    }
    let measurement = Measurement(
      name: name, producers: producers.count, actions: history.eventCount,
      seconds: stopwatch.seconds, latencies: latencies)
    return RunResult(measurement: measurement, models: stores.models)
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

/// An event as the action that is dispatched for it.
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

/// Hands the actions of a batch to the dispatcher, and takes note of how each ends.
private struct BatchReplay: Sendable {
  let mode: Mode
  let dispatcher: Dispatcher
  let limiter: InFlightLimiter
  let outcome: BatchOutcome

  /// Dispatches the events at these places, in their order.
  func dispatch(_ places: [Int], of actions: [ReplayedAction]) {
    for place in places {
      switch actions[place] {
      case .changed(let action): take(action, mode.scheduling(of: action.change), at: place)
      case .committed(let action): take(action, mode.scheduling(of: action.commit), at: place)
      }
    }
  }

  private func take<Action: ActionType>(
    _ action: Action, _ scheduling: Dispatcher.Mode, at place: Int
  ) {
    if mode == .sync { run(action, at: place) } else { enqueue(action, scheduling, at: place) }
  }

  /// It has ended when `dispatch` returns: nothing is in flight, and nobody need be told.
  private func run<Action: ActionType>(_ action: Action, at place: Int) {
    let began = began(at: place)
    let handle = dispatcher.dispatch(action: action, mode: .sync)
    if let began { outcome.record(Stopwatch.now - began, at: place) }
    if let error = handle.errorIfEnded { outcome.fail(at: place, error) }
  }

  private func enqueue<Action: ActionType>(_ action: Action, _ mode: Dispatcher.Mode, at place: Int)
  {
    limiter.acquire()
    let began = began(at: place)
    // Not counted as a reference, for which the threads that make and drop it would contend: the replay keeps
    // it until the last one was released.
    dispatcher.dispatch(action: action, mode: mode) { [limiter, unowned(unsafe) outcome] result in
      if let began { outcome.record(Stopwatch.now - began, at: place) }
      if let error = result.error { outcome.fail(at: place, error) }
      limiter.release()
    }
  }

  /// When an action began, where its latency is measured.
  private func began(at place: Int) -> UInt64? {
    place.isMultiple(of: PlainLoop.sampling) ? Stopwatch.now : nil
  }
}
