import DispatchStore
import Foundation
import Testing

/// Reducers that are functions, also over models that are objects.
@Suite(.timeLimit(.minutes(10)))
struct FunctionReducerTests {
  private let dispatcher = Dispatcher()

  @Test(arguments: Dispatcher.Mode.everyMode)
  func changesTheModelInPlaceOrReturnsTheNextOne(_ mode: Dispatcher.Mode) async {
    let inPlace = dispatcher.register(
      store: Store(model: 1, reducer: FunctionReducer<Int, Ping> { count, _ in count *= 2 }))
    let returning = dispatcher.register(
      store: Store(
        model: 1, reducer: FunctionReducer<Int, Ping>(returning: { $0 * 3 + $1.name.count })))
    for _ in 0..<2 {
      #expect(await dispatcher.dispatch(action: Ping(), mode: mode).result.isSuccess)
    }
    #expect(inPlace.model == 4)
    #expect(returning.model == 9)
    #expect(inPlace.version == 2)
  }

  @Test func anErrorFailsTheStoreRunAndWhatWasChangedBeforeStays() async {
    let store = dispatcher.register(
      store: Store(
        identifier: "store", model: 0,
        reducer: FunctionReducer<Int, Ping> { count, _ in
          count = 7
          throw PingFailure()
        }))
    let outcome = await store.dispatch(Ping()).result["store"]
    #expect(outcome.error is PingFailure)
    #expect(store.model == 7)
  }

  /// A model that guards itself.
  private final class Tally: @unchecked Sendable {  // because the lock guards `count`
    private let lock = NSLock()
    private var present = 0

    var count: Int { lock.withLock { present } }
    func add() { lock.withLock { present += 1 } }
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func anObjectIsChangedInPlaceAndEachChangeCounts(_ mode: Dispatcher.Mode) async {
    let tally = Tally()
    let store = dispatcher.register(
      store: Store(
        model: tally, reducer: FunctionReducer<Tally, Ping> { tally, _ in tally.add() }))
    let changes = Recorder<(UInt64, Bool)>()
    let token = store.observe(.model) { changes.record(($0.version, $0.value === tally)) }
    for _ in 0..<3 { _ = await store.dispatch(Ping(), mode: mode).result }
    #expect(store.model === tally)
    #expect(tally.count == 3)
    #expect(changes.all.map(\.0) == [1, 2, 3])
    #expect(changes.all.map(\.1) == [true, true, true])
    token.cancel()
  }

  @Test func anObjectIsReadWhileThreadsReduceIt() async {
    let store = dispatcher.register(
      store: Store(
        model: Tally(), reducer: FunctionReducer<Tally, Ping> { tally, _ in tally.add() }))
    let rounds = Load.count(1_000)
    await onOwnThreads(4) { index in
      for _ in 0..<rounds {
        if index == 0 { _ = store.model.count } else { store.dispatch(Ping(), mode: .sync) }
      }
    }
    #expect(store.model.count == 3 * rounds)
    #expect(store.version == UInt64(3 * rounds))
  }

  @Test func hooksBeforeAndAfterAnObjectsStore() async {
    let store = dispatcher.register(
      store: Store(
        identifier: "tally", model: Tally(),
        reducer: FunctionReducer<Tally, Ping> { tally, _ in tally.add() }))
    let counts = Recorder<Int>()
    dispatcher.register(.after(store) { _, _ in counts.record(store.model.count) })
    dispatcher.register(
      .before(store) { action, _ in
        counts.record(store.model.count)
        return action.name == "no" ? .veto(reason: "no") : .pass
      })
    _ = await store.dispatch(Ping()).result
    _ = await store.dispatch(Ping(name: "no")).result
    #expect(counts.all == [0, 1, 1, 1])
  }
}
