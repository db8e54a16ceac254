import DispatchStore
import DispatchStoreTesting

extension Scenario {
  /// Dispatches that wait for others across lanes, some of which are cancelled.
  static let handles = Scenario(
    name: "handles", summary: "a dispatch runs after those that it waits for, however they end"
  ) { dispatcher, simulation in
    let log = Shared([Int]())
    let store = dispatcher.makeJournal("journal") { number in
      if number > 0 { log.append(number) }
    }
    @Sendable func send(
      _ action: Entry, _ mode: Dispatcher.Mode, _ handles: [DispatchHandle] = []
    ) -> DispatchHandle {
      dispatcher.dispatch(action: action, mode: mode, options: .after(handles)) {
        log.append(-action.number)
      }
    }
    let first = send(.slow(1), .serial(lane: "x"))
    let second = send(.work(2), .serial(lane: "y"), [first])
    let third = send(.work(3), .async, [first, second, first])
    let fourth = send(.work(4), .serial(lane: "x"), [second])
    let fifth = send(.slow(5), .mainThread, [third, fourth])
    simulation.atSomeTime { second.cancel() }
    simulation.atSomeTime { third.cancel() }
    async let sixth = send(.work(6), .sync, [third])
    async let seventh = send(.work(7), .serial(lane: "y"), [fifth])
    let handles = await [first, second, third, fourth, fifth, sixth, seventh]
    let results = await handles.results
    let events = log.now
    for (number, others) in [2: [1], 3: [1, 2], 4: [1, 2], 5: [3, 4], 6: [3], 7: [5]] {
      guard let place = events.firstIndex(of: number) else { continue }
      for other in others {
        try check(
          events[..<place].contains(-other), "\(number) did not wait for \(other): \(events)")
      }
    }
    for (place, result) in results.enumerated() {
      let number = place + 1
      try check(events.filter { $0 == -number }.count == 1, "completions: \(events)")
      try check(
        result.isSuccess == store.model.entries.contains(number), "\(result): \(events)")
      if number != 2, number != 3 { try check(result.isSuccess, "\(result)") }
    }
  }
}
