import DispatchStore
import DispatchStoreTesting

extension Scenario {
  /// Dispatches that come at once to two rate limits: some are cancelled or time out when their tokens come.
  static let rateLimits = Scenario(
    name: "rate-limits", summary: "dispatches begin at their rate, and no token is lost"
  ) { dispatcher, simulation in
    let begun = Shared([Int: [Duration]]())
    let runs = Shared([Int]())
    _ = dispatcher.makeJournal("journal") { number in
      guard number > 0 else { return }
      begun.append(simulation.clock.now.offset, at: number % 2)
      runs.append(number)
    }
    let limits = (0..<2).map { RateLimit(1, per: .seconds(1), burst: 2 - $0, overflow: .wait) }
    let results = Shared([Int: DispatchResult]())
    await withTaskGroup { group in
      for number in 1...12 {
        // In lanes of their own: whatever waits in a lane would hold up the others there.
        let mode: Dispatcher.Mode = number % 3 == 0 ? .async : .serial(lane: number)
        var options =
          [.rateLimited(by: limits[number % 2], key: "k"), .named(number)] as DispatchOptions
        if number > 8 { options = [options, .timeout(.seconds(1 + simulation.draw(below: 3)))] }
        let isSent = number != 1 && simulation.draw(below: 2) == 0
        group.addTask { [options] in
          results[number] = await dispatcher.result(
            of: Entry.work(number), mode: mode, options: options, isSent: isSent)
        }
      }
      let cancelled = 1 + simulation.draw(below: 8)
      simulation.startThread { dispatcher.cancel(named: cancelled) }
      simulation.startThread {
        let handle = dispatcher.dispatch(
          action: Entry.work(14), mode: .sync, options: .rateLimited(by: limits[0], key: "k"))
        results[14] = handle.resultIfEnded
      }
    }
    try await simulation.clock.sleep(for: .seconds(20))
    for (key, limit) in limits.enumerated() {
      let (times, figures) = ((begun[key] ?? []).sorted(), limit.statistics)
      let burst = 2 - key
      for (index, time) in times.enumerated() {
        try check(time >= .seconds(index + 1 - burst), "too fast: \(times)")
      }
      // The last one begins as soon as its token comes, since all came at once. A dispatch that is cancelled as it begins
      // has used its token.
      let last = Duration.seconds(max(figures.admitted - burst, 0))
      try check(times.last ?? .zero <= last, "\(figures.admitted) admitted, a token lost: \(times)")
      try check(figures.waiting == 0 && figures.keys == 0, "\(figures)")
    }
    for (number, result) in results.now {
      let count = runs.now.count { $0 == number }
      try check(count == 1 || count == 0 && !result.isSuccess, "\(number) ran \(count) times")
    }
    try check(results.now.count == 13, "\(results.now.count) results")
  }

  /// Calls of a dependency that fail, succeed and hang, of which some are cancelled or time out.
  static let breakers = Scenario(
    name: "breakers", summary: "a circuit breaker opens and closes, and no trial keeps its place"
  ) { dispatcher, simulation in
    let store = dispatcher.makeJournal("journal")
    let changes = Shared([CircuitBreaker.State.closed])
    let breaker = CircuitBreaker(
      failures: 1, pause: .seconds(1), trials: 2,
      onChange: { state in changes.append(state) })
    let guarded = DispatchOptions.guarded(by: breaker)
    let refused = Shared([Int]())
    await withTaskGroup { group in
      for number in 1...10 {
        let modes: [Dispatcher.Mode] = [.async, .serial, .serial(lane: number), .mainThread]
        let mode = modes[simulation.draw(below: 4)]
        let action: Entry =
          switch simulation.draw(below: 4) {
          case 0: .fail(number)
          case 1: .hold(number)
          case 2: .slow(number)
          default: .work(number)
          }
        let pause = simulation.draw(below: 4)
        let sends = simulation.draw(below: 2) == 0 && mode != .mainThread
        let options = [guarded, .timeout(.seconds(2)), .named(number % 3)] as DispatchOptions
        group.addTask {
          try? await simulation.clock.sleep(for: .milliseconds(500 * pause))
          let result = await dispatcher.result(
            of: action, mode: mode, options: options, isSent: sends)
          if result.dispatchError?.code == .circuitOpen { refused.append(number) }
        }
      }
      for name in 0..<3 {
        group.addTask {
          try? await simulation.clock.sleep(for: .milliseconds(500 * simulation.draw(below: 5)))
          dispatcher.cancel(named: name)
        }
      }
    }
    for number in refused.now {
      try check(!store.model.entries.contains(number), "\(number) was refused, and has run")
    }
    let all = changes.now
    for (former, next) in zip(all, all.dropFirst()) {
      let isLegal =
        switch former {
        case .closed: next == .open
        case .open: next == .halfOpen
        case .halfOpen: next != .halfOpen
        }
      try check(isLegal, "\(all)")
    }
    // Trials that are cancelled when they come, or are about to begin.
    for round in 0..<3 {
      try await simulation.clock.sleep(for: .seconds(10))
      _ = await dispatcher.send(Entry.fail(30 + round), options: guarded)
      try await simulation.clock.sleep(for: .seconds(1))
      let trials = (0..<2).map { number in
        dispatcher.dispatch(action: Entry.slow(40 + 2 * round + number), options: guarded)
      }
      for trial in trials { simulation.startThread { trial.cancel() } }
      for trial in trials { await trial.ended() }
    }
    // Once the dependency is well, it closes: whatever came before.
    try await simulation.clock.sleep(for: .seconds(10))
    let left = breaker.statistics
    try check(left.trialsInFlight == 0, "\(left)")
    for number in 21...22 {
      let result = await dispatcher.send(Entry.work(number), options: guarded)
      try check(result.isSuccess, "\(result.result) after \(left)")
    }
    try check(breaker.state == .closed, "\(breaker.statistics)")
  }
}
