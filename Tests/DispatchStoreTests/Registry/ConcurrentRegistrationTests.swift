import DispatchStore
import Testing

@Suite(.timeLimit(.minutes(10)))
struct ConcurrentRegistrationTests {
  private let dispatcher = Dispatcher()

  @Test func registeringFromManyThreadsKeepsThemAll() async {
    let dispatcher = dispatcher
    await onOwnThreads(8) { thread in
      for index in 0..<200 {
        dispatcher.register(store: .counter("\(thread)/\(index)"))
        if index.isMultiple(of: 2) { dispatcher.unregister(storeIdentifier: "\(thread)/\(index)") }
      }
    }
    #expect(dispatcher.stores.count == 800)
    let identifiers = Set(dispatcher.stores.map(\.identifier))
    for thread in 0..<8 {
      for index in stride(from: 1, to: 200, by: 2) {
        #expect(identifiers.contains("\(thread)/\(index)"))
      }
    }
    let result = await dispatcher.dispatch(action: CounterAction.add(1)).result
    #expect(result.stores.count == 800)
    #expect(result.isSuccess)
  }

  @Test func threadsThatRegisterOneIdentifierGetTheSameStore() async {
    let dispatcher = dispatcher
    for round in 0..<50 {
      let got = Recorder<CounterStore>()
      await onOwnThreads(4) { _ in
        got.record(dispatcher.register(store: .counter("shared \(round)")))
      }
      #expect(Set(got.all.map(ObjectIdentifier.init)).count == 1)
      #expect(dispatcher.store(with: "shared \(round)") === got.all[0])
      #expect(got.all[0].dispatcher === dispatcher)
    }
  }

  @Test func aStoreKnowsItsDispatcherExactlyWhileItIsRegistered() async {
    let dispatcher = dispatcher
    let store = CounterStore.counter("contended")
    for _ in 0..<20 {
      await onOwnThreads(4) { thread in
        for _ in 0..<500 {
          if thread.isMultiple(of: 2) {
            dispatcher.register(store: store)
          } else {
            dispatcher.unregister(store: store)
          }
        }
      }
      let isRegistered = dispatcher.store(with: "contended") === store
      #expect((store.dispatcher === dispatcher) == isRegistered)
      dispatcher.unregister(store: store)
    }
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func dispatchesRunOnWhileStoresComeAndGo(mode: Dispatcher.Mode) async {
    let dispatcher = dispatcher
    let store = dispatcher.register(store: .counter("stays"))
    let ends = Recorder<Bool>()
    await onOwnThreads(4) { thread in
      for index in 0..<100 {
        if thread < 2 {
          dispatcher.dispatch(CounterAction.add(1), mode: mode) { result in
            ends.record(result.isSuccess && result["stays"].isFinished == true)
          }
        } else {
          let passing = dispatcher.register(store: .counter("passing \(thread) \(index % 5)"))
          dispatcher.unregister(store: passing)
        }
      }
    }
    #expect(await ends.first(200).allSatisfy { $0 })
    #expect(ends.count == 200)
    #expect(store.model.count == 200)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func middlewaresComeAndGoWhileDispatchesRun(mode: Dispatcher.Mode) async {
    let dispatcher = dispatcher
    dispatcher.register(store: .counter("stays"))
    let ends = Recorder<Bool>()
    let calls = Recorder<String>()
    await onOwnThreads(4) { thread in
      for _ in 0..<100 {
        if thread < 2 {
          dispatcher.dispatch(CounterAction.add(1), mode: mode) { result in
            ends.record(result.isSuccess)
          }
        } else {
          let middleware = RecordingMiddleware("m", to: calls)
          dispatcher.register(middleware: middleware)
          dispatcher.unregister(middleware: middleware)
        }
      }
    }
    #expect(await ends.first(200).allSatisfy { $0 })
    // Each `willDispatch` has its `didDispatch`.
    let dids = calls.all.count { $0.hasPrefix("m did") }
    #expect(dids * 2 == calls.count)
    #expect(dispatcher.middlewares.isEmpty)
  }
}
