import DispatchStore
import DispatchStoreTesting

extension Scenario {
  /// A burst of one key, under a limit of one that drops the oldest, so that each is dropped as the next one comes.
  static let droppedDelays = Scenario(
    name: "dropped-delays", summary: "a delayed dispatch that a limit drops takes none with it"
  ) { dispatcher, simulation in
    let store = dispatcher.makeJournal("journal")
    let modes: [Dispatcher.Mode] = [.async, .serial, .serial(lane: "a"), .mainThread]
    let limit = DispatchLimit(1, overflow: .dropOldest)
    let mode = modes[simulation.draw(below: modes.count)]
    let handles = (1...3).map { number in
      dispatcher.dispatch(
        action: Entry.note(number), mode: mode,
        options: [.debounced("k", for: .seconds(1)), .limited(by: limit)])
    }
    for result in await handles.dropLast().results {
      try check(result.dispatchError?.code == .dropped, "\(result)")
    }
    simulation.clock.advance(by: .seconds(1))
    let last = await handles[2].result
    try check(last.isSuccess, "the last one ended as \(last)")
    try check(store.model.entries == [3], "\(store.model.entries)")
    try check(limit.statistics.inFlight == 0, "\(limit.statistics)")
  }

  /// Bursts of dispatches from several threads, of keys with a rate, some of which are cancelled or time out.
  static let rates = Scenario(
    name: "rates", summary: "dispatches of a key begin at its rate, and the last of a burst does"
  ) { dispatcher, simulation in
    let begins = BeginWatch(simulation.clock)
    let watch = RateWatch(begins)
    dispatcher.register(middleware: begins)
    _ = dispatcher.makeJournal("journal")
    let modes: [Dispatcher.Mode] = [.async, .serial, .serial(lane: "a"), .mainThread]
    let period = Duration.seconds(2)
    @Sendable func options(_ key: Int) -> DispatchOptions {
      switch key {
      case 0: .debounced(key, for: period)
      case 1: .throttled(key, per: period)
      case 2: .throttled(key, per: period, edges: .trailing)
      default: .throttled(key, per: period, edges: .both)
      }
    }
    let results = Shared([Int: [DispatchResult]]())
    let completions = Shared([Int]())
    @Sendable func dispatch(_ number: Int, _ options: DispatchOptions, _ way: Int) async {
      let mode = modes[number % 4]
      let result = await dispatcher.result(
        of: number % 3 == 0 ? Entry.slow(number) : .work(number), mode: mode, options: options,
        isSent: way == 0 && mode != .mainThread
      ) { _ in
        completions.append(number)
      }
      results.append(result, at: number)
    }
    // Each number has a key, and comes at some time; of each key the last ones are not disturbed.
    async let producers: [Void] = concurrently(0..<3) { producer in
      await withTaskGroup { inner in
        for count in 0..<4 {
          let key = simulation.draw(below: 4)
          let number = 1 + producer * 4 + count
          var options = [options(key), .named(key)] as DispatchOptions
          if number == 6 { options = [options, .timeout(.seconds(1))] }
          watch.came(number, key)
          let way = simulation.draw(below: 2)
          inner.addTask { [options] in await dispatch(number, options, way) }
          // Often at the end of an interval.
          try? await simulation.clock.sleep(for: period * simulation.draw(below: 4) / 2)
        }
      }
    }
    let cancelled = simulation.draw(below: 4)
    simulation.startThread { dispatcher.cancel(named: cancelled) }
    // Threads of the program's own, which wait for the time.
    for number in 21...22 {
      simulation.startThread {
        let handle = dispatcher.dispatch(
          action: Entry.work(number), mode: .sync, options: .debounced("sync", for: period))
        results.append(handle.resultIfEnded!, at: number)
      }
    }
    _ = await producers
    // The last one of each key: whatever came before.
    try await simulation.clock.sleep(for: .seconds(10))
    for key in 0..<4 {
      let numbers = [31 + 2 * key, 32 + 2 * key]
      let handles = numbers.map { number in
        watch.came(number, key)
        return dispatcher.dispatch(Entry.work(number), mode: modes[key], options: options(key)) {
          result in
          completions.append(number)
          results.append(result, at: number)
        }
      }
      let ends = await handles.results.map(\.isSuccess)
      try check(ends == [key == 1 || key == 3, key != 1], "\(key): \(ends)")
    }
    // Each has ended once, and begun if it was not skipped, cancelled or timed out.
    try await simulation.clock.sleep(for: .seconds(10))
    try watch.checkEnds(results.now, completions.now)
    try check(results[21]?.count == 1 && results[22]?.count == 1, "a .sync has not ended")
    try check(
      results[21]![0].isSuccess || results[22]![0].isSuccess, "both .sync were skipped")
    try watch.checkTimes(period)
    try check(dispatcher.dispatches(named: 0).isEmpty, "names of what has ended")
  }
}

/// When dispatches of each key have come and begun.
private struct RateWatch {
  private let begins: BeginWatch
  private let came = Shared([Int: (key: Int, time: Duration)]())

  init(_ begins: BeginWatch) {
    self.begins = begins
  }

  func came(_ number: Int, _ key: Int) {
    came[number] = (key: key, time: begins.clock.now.offset)
  }

  /// Checks that each dispatch has ended once, and begun if it has succeeded, and not if it was skipped.
  func checkEnds(_ results: [Int: [DispatchResult]], _ completions: [Int]) throws {
    for (number, all) in results.sorted(by: { $0.key < $1.key }) {
      try check(all.count == 1, "\(number) has ended \(all.count) times")
      if number < 21 || number > 30 {
        try check(
          completions.count { $0 == number } == 1, "completions of \(number): \(completions)")
      }
      let code = all[0].dispatchError?.code
      let times = begins.begun.count { $0.number == number }
      if all[0].isSuccess { try check(times == 1, "\(number) began \(times) times") }
      if code == .skipped { try check(times == 0, "\(number) was skipped, and began") }
    }
  }

  /// Checks that the dispatches of a key are a period apart, and that none that waits begins before.
  func checkTimes(_ period: Duration) throws {
    let came = came.now
    for key in 0..<4 {
      let begun = begins.begun.filter { came[$0.number]?.key == key }
      for (former, next) in zip(begun, begun.dropFirst()) {
        try check(next.time - former.time >= period, "\(key): \(begun)")
      }
      guard key == 0 || key == 2 else { continue }
      for event in begun {
        let wait = event.time - came[event.number]!.time
        // A trailing dispatch may have come when the interval had begun.
        try check(key == 0 ? wait >= period : wait > .zero, "\(key): \(event) waited \(wait)")
      }
    }
  }
}
