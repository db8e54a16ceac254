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

  @Test(arguments: [Dispatcher.Mode.async, .serial])
  func advancedItHasDecidedTimeLimitsWhenThatReturns(_ mode: Dispatcher.Mode) async {
    let clock = VirtualClock()
    let dispatcher = Dispatcher(clock: clock)
    let reducer = WaitingReducer()
    let (isRunning, isCancelled) = (reducer.isRunning, reducer.isCancelled)
    dispatcher.register(store: Store(identifier: "notes", reducer: reducer))
    let handle = dispatcher.dispatch(
      action: Note.add(1), mode: mode, options: .timeout(.seconds(5)))
    await isRunning.opened()
    clock.advance(by: .seconds(4))
    #expect(!isCancelled.isOpen)
    clock.advance(by: .seconds(1))
    #expect(isCancelled.isOpen)
    _ = await handle.result
  }

  @Test func whatItBeginsIsNotOfTheDispatchWhoseBlockAdvancesIt() async {
    let clock = VirtualClock()
    let dispatcher = Dispatcher(clock: clock)
    let testStore = TestStore(
      Store(identifier: "notes", model: Notes()) {
        On(Note.self) { _, _ in clock.advance(by: .seconds(5)) }
      }, dispatcher: dispatcher)
    dispatcher.every(.seconds(5), name: "other", perform: OtherNote())
    await testStore.send(Note.add(1))
    await testStore.receive(OtherNote.self)
    #expect(testStore.recorder.dispatches.map(\.cause) == [nil, nil])
  }

  private struct OtherNote: ActionType {}

  /// Waits until it is cancelled.
  private final class WaitingReducer: Reducer<Notes, Note> {
    let (isRunning, isCancelled) = (Latch(), Latch())

    override func operation(
      for action: Note, in store: Store<Notes, Note>
    ) -> ActionOperation<Notes, Note> {
      ActionOperation(action: action, store: store) { [isRunning, isCancelled] _, _ async in
        await withTaskCancellationHandler {
          isRunning.open()
          await Latch().opened()
        } onCancel: {
          isCancelled.open()
        }
      }
    }
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
