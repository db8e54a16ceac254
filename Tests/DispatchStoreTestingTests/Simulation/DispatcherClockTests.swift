import DispatchStore
import DispatchStoreTesting
import Testing

@Suite("A dispatcher's clock")
struct DispatcherClockTests {
  @Test(arguments: SimulationTests.modes)
  func measuresHowLongAStoresPartTook(_ mode: Dispatcher.Mode) async {
    let clock = VirtualClock()
    let dispatcher = Dispatcher(clock: clock)
    let durations = Durations()
    dispatcher.register(middleware: durations)
    _ = MockStore<Notes, Note>(
      identifier: "notes", model: Notes(), dispatcher: dispatcher,
      answer: .update { _ in clock.advance(by: .seconds(5)) })
    for _ in 0..<2 { _ = await dispatcher.dispatch(action: Note.add(1), mode: mode).result }
    #expect(await durations.all() == [.seconds(5), .seconds(5)])
  }

  @Test func ofASimulationIsTheSimulations() async {
    let durations = Durations()
    let report = await Simulation(seed: 1).run { dispatcher in
      dispatcher.register(middleware: durations)
      dispatcher.register(
        store: Store(identifier: "notes", reducer: SleepingReducer(for: .seconds(3))))
      _ = await dispatcher.dispatch(action: Note.add(1)).result
    }
    #expect(report.failure == nil)
    #expect(await durations.all() == [.seconds(3)])
  }

  final class Durations: Middleware {
    private let (durations, continuation) = AsyncStream<Duration?>.makeStream()

    func didDispatch(transaction: StoreRunInfo, action: AnyAction, in store: AnyStore) {
      continuation.yield(transaction.duration)
    }

    /// Returns all notes, and removes them.
    func all() async -> [Duration?] {
      continuation.finish()
      return await durations.reduce(into: []) { $0.append($1) }
    }
  }
}
