import Dispatch
import DispatchStore
import Synchronization

/// Replays a history through a dispatcher, in one of its modes.
struct DispatchedReplay: Replayer {
  /// The longest time for which a replay that is cut waits for the actions in flight.
  static let drainLimit: Duration = .seconds(5)
  private let drainLimit: Duration

  let mode: Mode
  /// The number of actions that may be in flight at a time.
  let inFlight: Int
  private let producers: Producers
  private let hooks: [Hook]
  private let database: ReplayDatabase?

  /// - Parameters:
  ///   - producers: The number of threads or tasks that dispatch; one in a mode that takes no more.
  ///   - database: Saves the replay, if it is to be saved.
  init(
    mode: Mode, inFlight: Int = Options().inFlight, producers: Int = 1, hooks: [Hook] = [],
    database: ReplayDatabase? = nil, drainLimit: Duration = Self.drainLimit
  ) {
    self.database = database
    self.drainLimit = drainLimit
    (self.mode, self.inFlight) = (mode, inFlight)
    self.producers = Producers(count: mode.takesSeveralProducers ? producers : 1)
    self.hooks = hooks
  }

  var name: String { mode.rawValue }
  var keepsOrder: Bool { mode.keepsOrder }
  var hasStores: Bool { true }

  func replay(
    _ history: EventBatches, _ followed: FollowedReplay?, until stop: Stop
  ) throws -> RunResult {
    guard let database else { return try replay(history, Stores(hooks: hooks), followed, stop) }
    return try database.resume(history, hooks) { try replay($0, $1, followed, stop) }
  }

  private func replay(
    _ history: EventBatches, _ stores: Stores, _ followed: FollowedReplay?, _ stop: Stop
  ) throws -> RunResult {
    let producer = ActionProducer(
      mode: mode, dispatcher: stores.dispatcher, inFlight: inFlight, until: stop)
    func run() throws -> RunResult {
      let (measurement, cut) = try dispatch(history, producer) { try followed?.check() }
      return RunResult(measurement: measurement, models: stores.models, cut: cut)
    }
    return try followed?.follow(stores, during: run) ?? run()
  }

  /// - Parameter batchHasEnded: Called after each batch, out of the measured time.
  private func dispatch(
    _ history: EventBatches, _ producer: ActionProducer, batchHasEnded: () throws -> Void
  ) throws -> (Measurement, Cut?) {
    let outcome = producer.outcome
    var stopwatch = Stopwatch()
    let passage = Result {
      try history.takeEach { events in
        let first = outcome.dispatched
        let shares = producers.split(events)
        // Made outside of the measured time, as the events of the plain loop are.
        let batch = ActionBatch(events, first: first, skipped: history.skipped)
        stopwatch.time { dispatch(shares, of: batch, producer) }
        let isToEnd = producer.stop.isRequested || outcome.firstFailure != nil
        if !isToEnd { try batchHasEnded() }
        return isToEnd ? min(outcome.dispatched - first, events.count - 1) : events.count
      }
    }
    let unfinished = drain(producer)
    if let failure = outcome.firstFailure { throw try fault(failure, in: history) }
    _ = try passage.get()
    let measurement = Measurement(
      name: name, producers: producers.count, actions: outcome.dispatched,
      seconds: stopwatch.seconds, latencies: outcome.latencies)
    let isComplete = outcome.dispatched == history.leftCount && unfinished == 0
    guard !isComplete, let signal = producer.stop.signal else { return (measurement, nil) }
    let cut = Cut(
      signal: signal, dispatched: history.skipped + outcome.dispatched,
      isResumed: history.isResumed, unfinished: unfinished)
    return (measurement, cut)
  }

  private func dispatch(_ shares: [[Int]], of batch: ActionBatch, _ producer: ActionProducer) {
    if mode == .structured {
      producers.runInTasks(shares) { await producer.send($0, of: batch) }
    } else {
      producers.run(shares) { producer.dispatch($0, of: batch) }
      // The next batch is read when this one has ended, so that the times have no reading in them.
      if !producer.stop.isRequested { producer.unended.wait() }
    }
  }

  /// Waits until all dispatched actions have ended, but no longer than the limit after a request to stop.
  ///
  /// Returns the number of actions that have not ended.
  private func drain(_ producer: ActionProducer) -> Int {
    let (end, endOrLimit) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    producer.dispatcher.drain { _ in end.signal() }
    while !producer.stop.isRequested {
      // A signal handler can't wake this thread.
      if end.wait(timeout: .now() + .milliseconds(100)) == .success { return 0 }
    }
    let isComplete = Atomic(false)
    producer.dispatcher.drain(timeout: drainLimit) { report in
      isComplete.store(report.isComplete, ordering: .releasing)
      endOrLimit.signal()
    }
    endOrLimit.wait()
    if isComplete.load(ordering: .acquiring) { return 0 }
    // Actions that have not ended will use it.
    _ = Unmanaged.passRetained(producer.outcome)
    return max(1, producer.limit.statistics.inFlight)
  }

  private func fault(
    _ failure: (number: Int, error: any Error), in history: EventBatches
  ) throws -> Failure {
    let action =
      switch try history.event(at: failure.number) {
      case .changed(let change): "a change of '\(change.path)'"
      case .committed(let commit): "a commit by '\(commit.author)'"
      case nil: "event \(failure.number)"
      }
    return Failure(
      .software, "\(name): the dispatch of \(action) did not succeed: \(failure.error)")
  }
}
