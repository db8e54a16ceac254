import DispatchStore
import DispatchStoreTesting
import Foundation
import Testing

@Suite("Histories of stores")
struct StoreHistoryTests {
  private static let modes = Dispatcher.Mode.allBuiltIn + [.serial(lane: "named")]

  @Test(.timeLimit(.minutes(10)), arguments: modes)
  func dispatchesAndReadsFromEightThreadsAreLinearizable(mode: Dispatcher.Mode) async {
    let dispatcher = Dispatcher(name: "history")
    let stores = ["a", "b"].map {
      dispatcher.register(store: TallyStore(identifier: $0, reducer: TallyReducer()))
    }
    let recorder = TallyRecorder()
    await HistoryProcesses.run(8) { process in
      let ended = DispatchSemaphore(value: 0)
      for round in 0..<12 {
        let store = stores[round % 3 == 0 ? 0 : 1]
        let action: TallyAction =
          switch round % 4 {
          case 0: .add(round + 1)
          case 1: .double
          case 2: .fail(3)
          default: .add(1)
          }
        recorder.dispatch(action, to: store, mode: mode, on: process) { _ in ended.signal() }
        // Some reads overlap with the dispatch, others come after its end.
        if round % 2 == 0 { ended.wait() }
        recorder.read(store, on: process)
        if round % 2 != 0 { ended.wait() }
      }
    }
    let history = recorder.history
    #expect(history.operations.count == 8 * 12 * 2)
    #expect(history.operations.allSatisfy { $0.returned != nil })
    let verdict = history.check()
    #expect(verdict.isLinearizable, "\(verdict)")
  }

  @Test func eachStoreThatRespondsHasItsPartInTheHistory() async {
    let dispatcher = Dispatcher(name: "history")
    let stores = ["a", "b"].map {
      dispatcher.register(store: TallyStore(identifier: $0, reducer: TallyReducer()))
    }
    let elsewhere = TallyStore(identifier: "elsewhere", reducer: TallyReducer())
    let recorder = TallyRecorder()
    let handle = recorder.dispatch(
      .fail(2), through: dispatcher, to: stores + [elsewhere], mode: .async, on: "p")
    #expect(await handle.result.hasResponders)
    for store in stores { recorder.read(store, on: "p") }
    #expect(
      recorder.history.description == """
        #1 p: a fail(2) → failed (TallyFailure())
        #2 p: b fail(2) → failed (TallyFailure())
        #3 p: a read → 2
        #4 p: b read → 2
        """)
    let verdict = recorder.history.check(by: \.storeIdentifier) { _ in
      StoreSpecification(model: Tally(), reducer: TallyReducer())
    }
    #expect(verdict.isLinearizable, "\(verdict)")
  }

  private struct Fail: AtomicAction, Hashable {}
  private struct Pay: ActionType, Hashable {}

  private final class FailingReducer<Action: ActionType>: Reducer<Tally, Action> {
    override func reduce(into tally: inout Tally, action: Action) throws {
      tally.count += 1
      throw TallyFailure()
    }
  }

  enum WhyAtomic: CaseIterable, Sendable { case action, option, key, durableEffect }

  @Test(arguments: WhyAtomic.allCases, modes)
  func anAtomicActionThatFailsHasChangedNothing(why: WhyAtomic, mode: Dispatcher.Mode) async {
    let dispatcher = Dispatcher(name: "history")
    func fail<Action: ActionType>(_ action: Action, _ options: DispatchOptions) async {
      let store = dispatcher.register(
        store: Store<Tally, Action>(identifier: "a", reducer: FailingReducer<Action>()))
      let recorder = StoreHistoryRecorder<Tally, Action>()
      let result = await recorder.dispatch(
        action, to: store, mode: mode, on: "p", options: options
      ).result
      #expect(!result.isSuccess)
      #expect(recorder.read(store, on: "p").count == 0)
      let verdict = recorder.history.check(by: \.storeIdentifier) { _ in
        StoreSpecification(model: Tally(), reducer: FailingReducer<Action>())
      }
      #expect(verdict.isLinearizable, "\(verdict)")
    }
    switch why {
    case .action:
      await fail(Fail(), [])
    case .option:
      await fail(Pay(), .atomic)
    case .key:
      await fail(Pay(), .idempotencyKey("pay"))
    case .durableEffect:
      dispatcher.register(effect: DurableEffect("ship", on: Pay.self) { _, _ in nil })
      await fail(Pay(), [])
    }
  }

  @Test func whatNeverRanIsLeftOut() async {
    final class Veto: Middleware {
      func willDispatch(
        transaction: DispatchInfo, action: AnyAction, in store: AnyStore
      ) -> MiddlewareVerdict { .veto(reason: "no") }
    }
    let dispatcher = Dispatcher(name: "history")
    dispatcher.register(middleware: Veto())
    let store = dispatcher.register(store: TallyStore(reducer: TallyReducer()))
    let recorder = TallyRecorder()
    recorder.dispatch(.add(1), to: store, mode: .sync, on: "p")
    recorder.dispatch(.add(1), to: TallyStore(reducer: TallyReducer()), mode: .sync, on: "p")
    dispatcher.close()
    recorder.dispatch(.add(1), to: store, mode: .sync, on: "p")
    #expect(recorder.history.operations.isEmpty)
  }

  @Test(arguments: modes)
  func aRepeatByItsIdempotencyKeyIsLeftOut(mode: Dispatcher.Mode) async {
    let dispatcher = Dispatcher(name: "history")
    let store = dispatcher.register(store: TallyStore(identifier: "a", reducer: TallyReducer()))
    let recorder = TallyRecorder()
    for _ in 0..<2 {
      let handle = recorder.dispatch(
        .add(1), to: store, mode: mode, on: "p", options: .idempotencyKey("once"))
      #expect(await handle.result.isSuccess)
    }
    recorder.read(store, on: "p")
    #expect(
      recorder.history.description == """
        #1 p: a add(1) → finished
        #2 p: a read → 1
        """)
  }

  @Test func aRepeatThatJoinsTheFirstOneIsLeftOut() async {
    let mayEnd = DispatchSemaphore(value: 0)
    let dispatcher = Dispatcher(name: "history")
    let store = dispatcher.register(
      store: TallyStore(identifier: "a", reducer: TallyReducer(whenRead: { mayEnd.wait() })))
    let recorder = TallyRecorder()
    let handles = (0..<2).map { _ in
      recorder.dispatch(
        .addCarelessly, to: store, mode: .serial, on: "p", options: .idempotencyKey("once"))
    }
    mayEnd.signal()
    for handle in handles { #expect(await handle.result.isSuccess) }
    recorder.read(store, on: "p")
    #expect(
      recorder.history.description == """
        #1 p: a addCarelessly → finished
        #2 p: a read → 1
        """)
  }

  @Test func whatWasCancelledStaysPending() async {
    let mayEnd = DispatchSemaphore(value: 0)
    let dispatcher = Dispatcher(name: "history")
    let store = dispatcher.register(
      store: TallyStore(identifier: "a", reducer: TallyReducer(whenRead: { mayEnd.wait() })))
    let recorder = TallyRecorder()
    let holder = recorder.dispatch(.addCarelessly, to: store, mode: .serial, on: "p")
    let waiting = recorder.dispatch(.add(1), to: store, mode: .serial, on: "p")
    waiting.cancel()
    _ = await waiting.result
    mayEnd.signal()
    _ = await holder.result
    recorder.read(store, on: "p")
    #expect(
      recorder.history.description == """
        #1 p: a addCarelessly → finished
        #2 p: a add(1), pending
        #3 p: a read → 1
        """)
    #expect(recorder.history.check().isLinearizable)
  }

  /// Returns the first model that it read, for ever.
  private final class CachingStore: @unchecked Sendable {  // because `lock` guards `cached`
    private let lock = NSLock()
    private var cached: Tally?

    func read(_ store: TallyStore) -> Tally {
      lock.withLock {
        if let cached { return cached }
        cached = store.model
        return store.model
      }
    }
  }

  @Test func aCacheThatServesOldModelsIsCaught() async throws {
    let dispatcher = Dispatcher(name: "history")
    let store = dispatcher.register(store: TallyStore(identifier: "a", reducer: TallyReducer()))
    let cache = CachingStore()
    let recorder = TallyRecorder()
    await HistoryProcesses.run(8) { process in
      for _ in 0..<10 {
        recorder.dispatch(.add(1), to: store, mode: .sync, on: process)
        recorder.record(.read("a"), on: process) { .model(cache.read(store)) }
      }
    }
    let witness = try #require(recorder.history.check().witness)
    #expect(witness.object == "a")
    #expect(witness.misfits.contains { $0.operation.operation.isRead })
  }

  @Test func anUpdateThatIsLostIsCaught() async throws {
    let both = Meeting()
    let dispatcher = Dispatcher(name: "history")
    let store = dispatcher.register(
      store: TallyStore(identifier: "a", reducer: TallyReducer(whenRead: { both.meet() })))
    let recorder = TallyRecorder()
    await HistoryProcesses.run(2) { process in
      recorder.dispatch(.addCarelessly, to: store, mode: .sync, on: process)
    }
    recorder.read(store, on: "p2")
    let witness = try #require(recorder.history.check().witness)
    #expect(witness.order.count == 2)
    #expect(witness.misfits.map(\.operation.number) == [3])
  }

  /// Two threads wait for each other here.
  private final class Meeting: @unchecked Sendable {  // because `condition` guards `present`
    private let condition = NSCondition()
    private var present = 0

    func meet() {
      condition.withLock {
        present += 1
        condition.broadcast()
        while present < 2 { condition.wait() }
      }
    }
  }
}

extension StoreOperation {
  fileprivate var isRead: Bool {
    if case .read = self { true } else { false }
  }
}
