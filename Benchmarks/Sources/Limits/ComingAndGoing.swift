import BenchmarkSupport
import DispatchStore

/// Lanes and stores that come and go: afterwards a process has to be as large as before.
enum ComingAndGoing: String, CaseIterable {
  case lanes, lanesInTurn, stores, recordedStores, recorded, keys, delays

  var title: String {
    switch self {
    case .lanes: "1,000,000 lanes, ten dispatches each, in a row"
    case .lanesInTurn: "1,000,000 lanes in turn, ten times"
    case .stores: "stores that come and go"
    case .recordedStores: "the same beside a recorder of 10,000 entries"
    case .recorded: "10,000,000 dispatches beside such a recorder"
    case .keys: "10,000,000 idempotency keys, 100,000 of them kept"
    case .delays: "1,000,000 delays, each cancelled"
    }
  }

  var count: Int {
    switch self {
    case .lanes, .lanesInTurn, .recorded, .keys: 10_000_000
    case .stores, .recordedStores, .delays: 1_000_000
    }
  }

  /// Calls `reached` once 10, 50 and 100 % have ended.
  func run(reached: () -> Void) {
    let part = part()
    var done = 0
    for percent in [10, 50, 100] {
      part(done..<(count * percent / 100))
      done = count * percent / 100
      reached()
    }
  }

  /// Runs so many of them; the lanes with at most 64 actions in flight.
  private func part() -> (Range<Int>) -> Void {
    switch self {
    case .lanes: visits { $0 / 10 }
    case .lanesInTurn: visits { $0 % 1_000_000 }
    case .stores: { [dispatcher = Dispatcher()] in $0.forEach { Self.visitStore($0, dispatcher) } }
    case .recordedStores:
      { [dispatcher = Self.recorded()] in $0.forEach { Self.visitStore($0, dispatcher) } }
    case .recorded: visits(Self.recorded()) { $0 % 100 }
    case .keys: visits(options: { .idempotencyKey($0) }) { $0 % 100 }
    case .delays:
      visits(options: { .delayed(by: .seconds(3_600), name: "\($0)") }) {
        $0 % 100
      } then: {
        $0.cancelScheduled(named: "\($1)")
      }
    }
  }

  private static func recorded() -> Dispatcher {
    let dispatcher = Fixture(PlainReducer()).dispatcher
    dispatcher.register(middleware: DispatchRecorder(limit: 10_000))
    return dispatcher
  }

  private func visits(
    _ dispatcher: Dispatcher = Fixture(PlainReducer()).dispatcher,
    options: @escaping @Sendable (Int) -> DispatchOptions = { _ in [] },
    _ lane: @escaping @Sendable (Int) -> Int,
    then follow: @escaping @Sendable (Dispatcher, Int) -> Void = { _, _ in }
  ) -> (Range<Int>) -> Void {
    { numbers in
      Window().produce(numbers.count) { turn, ended in
        let number = numbers.lowerBound + turn
        dispatcher.dispatch(
          action: Add(turn), mode: .serial(lane: lane(number)), options: options(number),
          then: ended)
        follow(dispatcher, number)
      }
    }
  }

  /// Registers a store, dispatches to it, and unregisters it again.
  static func visitStore(_ number: Int, _ dispatcher: Dispatcher) {
    let store = Store<Counter, Add>(identifier: "session \(number)", reducer: PlainReducer())
    dispatcher.register(store: store)
    store.dispatch(Add(1), mode: .sync)
    dispatcher.unregister(storeIdentifier: store.identifier)
  }
}
