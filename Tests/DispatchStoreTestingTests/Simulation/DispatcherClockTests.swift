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
    let report = await Simulation(seed: 1).run { dispatcher in
      let clock = dispatcher.simulation!.clock
      let durations = Durations()
      dispatcher.register(middleware: durations)
      dispatcher.register(
        store: Store<Notes, Note>(identifier: "notes", reducer: SleepingReducer(clock)))
      _ = await dispatcher.dispatch(action: Note.add(1)).result
      #expect(await durations.all() == [.seconds(3)])
    }
    #expect(report.failure == nil)
  }

  final class SleepingReducer: Reducer<Notes, Note> {
    private let clock: VirtualClock

    init(_ clock: VirtualClock) {
      self.clock = clock
    }

    override func operation(
      for action: Note, in store: Store<Notes, Note>
    ) -> ActionOperation<Notes, Note> {
      ActionOperation(action: action, store: store) { [clock] _, _ async throws in
        try await clock.sleep(for: .seconds(3))
      }
    }
  }

  final class Durations: Middleware {
    private let (durations, continuation) = AsyncStream<Duration?>.makeStream()

    func willDispatch(
      transaction: DispatchTransaction, action: AnyAction, in store: AnyStore
    ) -> MiddlewareVerdict { .pass }

    func didDispatch(transaction: DispatchTransaction, action: AnyAction, in store: AnyStore) {
      continuation.yield(transaction.duration)
    }

    /// All that were noted; afterwards none is.
    func all() async -> [Duration?] {
      continuation.finish()
      return await durations.reduce(into: []) { $0.append($1) }
    }
  }
}
