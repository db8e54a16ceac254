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
      stopwatch.time {
        producers.run(shares) { replay.dispatch($0, of: batch) }
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

/// Hands the actions of a batch to the dispatcher, and takes note of how each ends.
private struct BatchReplay: Sendable {
  let mode: Mode
  let dispatcher: Dispatcher
  let limiter: InFlightLimiter
  let outcome: BatchOutcome

  /// Dispatches the events at these places, in their order.
  func dispatch(_ places: [Int], of batch: [Event]) {
    for place in places {
      limiter.acquire()
      let began = Stopwatch.now
      let completion: @Sendable (DispatchResult) -> Void = { [limiter, outcome] result in
        outcome.record(Stopwatch.now - began, at: place, result.error)
        limiter.release()
      }
      switch batch[place] {
      case .changed(let change):
        dispatcher.dispatch(
          action: Changed(change), mode: mode.scheduling(of: change), then: completion)
      case .committed(let commit):
        dispatcher.dispatch(
          action: Committed(commit), mode: mode.scheduling(of: commit), then: completion)
      }
    }
  }
}
