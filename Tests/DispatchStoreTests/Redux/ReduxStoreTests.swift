import DispatchStore
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(10)))
struct ReduxStoreTests {
  private enum Count: ActionType, Equatable { case increase, decrease, add(Int) }

  private typealias Counter = ReduxStore<Int, Count>

  private func makeStore(
    mode: Dispatcher.Mode = .sync, middleware: [Counter.Middleware] = []
  ) -> Counter {
    Counter(0, mode: mode, middleware: middleware) { count, action in
      switch action {
      case .increase: count += 1
      case .decrease: count -= 1
      case .add(let amount): count += amount
      }
    }
  }

  @Test func reducesEachActionBeforeDispatchReturns() {
    let store = makeStore()
    store.dispatch(.increase)
    store.dispatch(.add(5))
    store.dispatch(.decrease)
    #expect(store.state == 5)
    #expect(store.state == 5)
    #expect(store.store.version == 3)
  }

  @Test func aReducerMayReturnTheNextState() {
    let store = ReduxStore(
      [Int](),
      returning: { (state: [Int], action: Count) in
        action == .increase ? state + [state.count] : state.dropLast()
      })
    for action in [Count.increase, .increase, .decrease] { store.dispatch(action) }
    #expect(store.state == [0])
  }

  @Test func middlewaresPassReplaceRepeatAndStopActionsInOrder() {
    let steps = Recorder<String>()
    let store = makeStore(middleware: [
      { store, next, action in
        steps.record("first \(action) \(store.state)")
        next(action)
        steps.record("then \(store.state)")
      },
      { _, next, action in
        switch action {
        case .decrease: break
        case .add(let count): for _ in 0..<count { next(.increase) }
        case .increase: next(.add(10))
        }
      },
    ])
    for action in [Count.increase, .decrease, .add(2)] { store.dispatch(action) }
    #expect(
      steps.all == [
        "first increase 0", "then 10", "first decrease 10", "then 10", "first add(2) 10", "then 12",
      ])
  }

  @Test func anActionHasTheCallSiteOfItsDispatch() {
    let (dispatcher, sites) = (Dispatcher(), Recorder<CallSite>())
    dispatcher.register(
      middleware: RecordingMiddleware(will: { dispatch, _, _ in
        sites.record(dispatch.callSite)
        return .pass
      }))
    let store = Counter(
      0, dispatcher: dispatcher, middleware: [{ _, next, action in next(action) }],
      reducer: { count, _ in count += 1 })
    let line: UInt = #line + 1
    store.dispatch(.increase)
    #expect(sites.all.map(\.line) == [line])
    #expect(sites.all.allSatisfy { $0.fileID == #fileID })
  }

  @Test func aMiddlewareMayDispatchAndPassAnActionOnLater() async {
    let later = Recorder<@Sendable () -> Void>()
    let store = makeStore(middleware: [
      { store, next, action in
        if case .add(let count) = action {
          for _ in 0..<count { store.dispatch(.increase) }
        } else {
          later.record { next(action) }
        }
      }
    ])
    store.dispatch(.add(3))
    #expect(store.state == 0)
    for next in later.all { next() }
    #expect(store.state == 3)
  }

  @Test func subscribersGetEachStateUntilTheirTokenEnds() {
    let store = makeStore()
    let states = Recorder<Int>()
    var token: ObserverToken? = store.subscribe { states.record($0) }
    store.dispatch(.increase)
    store.dispatch(.increase)
    withExtendedLifetime(token) {}
    token = nil
    store.dispatch(.increase)
    #expect(states.all == [1, 2])
  }

  @Test func noActionOfManyThreadsIsLost() async {
    let passed = EventCount(of: .max)
    let store = makeStore(middleware: [
      { _, next, action in
        passed.add()
        next(action)
      }
    ])
    let rounds = Load.count(1_000)
    await onOwnThreads(4) { _ in for _ in 0..<rounds { store.dispatch(.increase) } }
    #expect(store.state == 4 * rounds)
    #expect(passed.count == 4 * rounds)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func runsInTheModeThatIsGivenThroughTheDispatchersMiddlewares(_ mode: Dispatcher.Mode) async {
    let store = makeStore(mode: mode)
    let done = Latch()
    store.store.dispatcher?.register(
      .after(Count.self) { _, run in
        #expect(run.dispatch.mode == mode)
        done.open()
      })
    store.dispatch(.add(4))
    await done.opened()
    #expect(store.state == 4)
  }
}
