import DispatchStore
import DispatchStoreTesting

extension Scenario {
  /// Dispatches that nothing but a time limit controls, whose deadlines come at some time, and others that use their
  /// records again.
  static let deadlines = Scenario(
    name: "deadlines", summary: "a deadline ends its own dispatch once, or comes too late"
  ) { dispatcher, simulation in
    let results = Shared([Int: [DispatchResult]]())
    let begun = Shared([Int]())
    let handles = Shared([Int: DispatchHandle]())
    let store = dispatcher.makeJournal("journal") { number in begun.append(number) }
    let modes: [Dispatcher.Mode] = [.serial, .async, .mainThread, .serial(lane: "a")]
    @Sendable func dispatch(
      _ action: Entry, _ options: DispatchOptions, then body: @escaping @Sendable () -> Void = {}
    ) {
      let number = action.number
      let handle = dispatcher.dispatch(action, mode: modes[number % modes.count], options: options)
      { result in
        results.append(result, at: number)
        body()
      }
      // Without one, the record may be used again.
      if number % 3 > 0 { handles[number] = handle }
    }
    simulation.startThread { simulation.clock.advance(by: .seconds(1)) }
    let limited = 1...8
    async let others: Void = {
      for number in limited where number > 4 {
        dispatch(.note(number), .timeout(.seconds(1))) {
          dispatch(.note(number + 10), .timeout(.seconds(3_000))) {
            dispatch(.note(number + 20), .after())
          }
        }
      }
    }()
    for number in limited where number <= 4 {
      dispatch(.work(number), .timeout(.seconds(1))) {
        dispatch(.work(number + 10), .timeout(.seconds(3_000)))
      }
    }
    await others
    while results.now.count < 20 { await Task.yield() }
    for (_, handle) in handles.now.sorted(by: { $0.key < $1.key }) { await handle.ended() }
    let entries = store.model.entries
    for (number, all) in results.now.sorted(by: { $0.key < $1.key }) {
      try check(all.count == 1, "completions of \(number): \(all)")
      let (result, isLimited) = (all[0], limited.contains(number))
      try check(isLimited || result.isSuccess, "\(number) ended as \(result)")
      if let error = result.dispatchError { try check(error.code == .timedOut, "\(error)") }
      if let handle = handles[number] {
        let given = await handle.result
        try check(
          given.isSuccess == result.isSuccess, "\(number) has completed with \(result): \(given)")
      }
      if result.isSuccess {
        try check(entries.filter { $0 == number }.count == 1, "\(number) in \(entries)")
      } else if case .cancelled(hasStarted: false) = result["journal"] {
        try check(!begun.now.contains(number), "\(number) has run, and its result says not")
      }
    }
  }

  /// Dispatches in whose blocks their limit passes, while timers come at some time.
  static let lateTimers = Scenario(
    name: "late-timers", summary: "a dispatch has timed out whose limit has passed at its end"
  ) { dispatcher, simulation in
    let clock = simulation.clock
    let store = dispatcher.makeJournal("journal") { number in
      if number > 0 { clock.advance(by: .seconds(1)) }
    }
    let modes: [Dispatcher.Mode] = [.serial, .async, .mainThread, .serial(lane: "a")]
    @Sendable func results(_ first: Int) async -> [(Int, DispatchResult)] {
      var results: [(Int, DispatchResult)] = []
      for (index, mode) in modes.enumerated() where first < 10 || mode != .mainThread {
        let (number, options) = (first + index, DispatchOptions.timeout(.seconds(1)))
        let action = index % 2 == 0 ? Entry.work(number) : .slow(number)
        let result = await dispatcher.result(
          of: action, mode: mode, options: options, isSent: first > 10)
        results.append((number, result))
      }
      return results
    }
    async let sent = results(11)
    for (number, result) in await results(1) + sent {
      try check(result.dispatchError?.code == .timedOut, "\(number) ended as \(result)")
      if result["journal"].isFinished == true {
        let entries = store.model.entries.filter { $0 == number }
        try check(entries.count == 1, "\(number) in \(store.model.entries)")
      }
    }
  }
}
