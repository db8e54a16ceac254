import DispatchStore
import DispatchStoreTesting

extension Scenario {
  /// Dispatches whose stores fail some times, with pauses, deadlines and cancellations.
  static let retries = Scenario(
    name: "retries", summary: "a store that fails runs again, until its dispatch is cancelled"
  ) { dispatcher, simulation in
    let watch = Shared([String: [Int]]())
    let completions = Shared([Int]())
    let holders = Shared([Int]())
    dispatcher.makeTrials(watch, holders)
    let clock = simulation.clock
    @Sendable func dispatch(
      _ number: Int, failing failures: Int, _ mode: Dispatcher.Mode, _ options: DispatchOptions
    ) -> DispatchHandle {
      dispatcher.dispatch(
        action: Trial(number: number, failures: failures), mode: mode, options: options
      ) {
        completions.append(number)
      }
    }
    let growing = RetryBackoff.exponential(from: .seconds(1), upTo: .seconds(3)).withFullJitter()
    // These run one after the other in a lane.
    let inLane = (11...13).map {
      dispatch($0, failing: $0 - 10, .serial(lane: "a"), .retry(attempts: 3, backoff: growing))
    }
    let beside = (21...23).map { number in
      dispatch(
        number, failing: 2, [.async, .serial, .mainThread][number - 21],
        .retry(attempts: 3, backoff: number == 22 ? .none : growing))
    }
    // Each would pause for an hour.
    let hour = DispatchOptions.retry(attempts: 9, backoff: .constant(.seconds(3_600)))
    let ended = (31...34).map { number in
      dispatch(
        number, failing: 9, number % 2 == 0 ? .async : .serial(lane: "b"),
        number < 33 ? [hour, .timeout(.seconds(2))] : hour)
    }
    for handle in ended.suffix(2) { simulation.startThread { handle.cancel() } }
    // The deadline comes at about the time at which a pause ends.
    let racing = dispatch(
      41, failing: 9, .serial(lane: "c"),
      [.retry(attempts: 3, backoff: .constant(.seconds(1))), .timeout(.seconds(1))])
    let sent = await dispatcher.send(
      Trial(number: 51, failures: 1), mode: .serial(lane: "a"),
      options: .retry(attempts: 2, backoff: growing))
    try check(sent.isSuccess, "\(sent)")

    for (number, result) in zip(11...13, await inLane.results) {
      try check(result.isSuccess == (number < 13), "\(result)")
      try check(result.stores[1].attemptCount == min(number - 9, 3), "\(result.stores)")
    }
    for result in await beside.results {
      try check(result.isSuccess && result.stores.map(\.attemptCount) == [1, 3, 1], "\(result)")
    }
    for result in await ended.results {
      try check(result["after"].isFinished != true, "\(result)")
    }
    _ = await racing.result
    // The stores of a dispatch that has timed out may end after it.
    for number in [31, 32, 33, 34, 41] {
      let lane = number % 2 == 0 ? Dispatcher.Mode.async : .serial(lane: number == 41 ? "c" : "b")
      await dispatch(number + 100, failing: 0, lane, DispatchOptions()).ended()
    }
    try check(clock.now.offset < .seconds(3_600), "a pause went on after its dispatch's end")
    let order = holders.now
    try check(order == order.sorted(), "the lane was not held in a pause: \(order)")
    let runs = watch.now
    for number in [11, 12, 13, 21, 22, 23, 31, 32, 33, 34, 41] {
      let counts = ["first", "trying", "after"].map { name in
        runs[name, default: []].count { $0 == number }
      }
      try check(counts[0] <= 1 && counts[2] <= 1, "\(number) ran \(counts) times")
      if number > 30 { try check(counts[1] <= (number == 41 ? 3 : 1), "\(number): \(counts)") }
      let all = completions.now
      try check(all.count { $0 == number } == 1, "completions of \(number): \(all)")
    }
  }
}

/// An action with which a store fails some times.
private struct Trial: ActionType {
  let number: Int
  let failures: Int
}

extension Dispatcher {
  /// Makes three stores, of which the second one fails.
  ///
  /// - Parameters:
  ///   - watch: By store, the trials that it has run.
  ///   - holders: The trials that have run in the lane.
  fileprivate func makeTrials(_ watch: Shared<[String: [Int]]>, _ holders: Shared<[Int]>) {
    for name in ["first", "trying", "after"] {
      let attempt: @Sendable (Trial) throws -> Void = { trial in
        watch.append(trial.number, at: name)
        if trial.number < 20 { holders.append(trial.number) }
        guard name == "trying" else { return }
        let count = watch[name]!.count { $0 == trial.number }
        if count <= trial.failures { throw Refused() }
      }
      let waitFor: WaitFor = name == "first" ? [] : [name == "trying" ? "first" : "trying"]
      makeStore(name, of: Trial.self, waitFor: waitFor) { action, store in
        entering(action.number, for: action, in: store, isAsync: action.number % 2 > 0) {
          if $0 < 0 { try attempt(action) }
        }
      }
    }
  }
}
