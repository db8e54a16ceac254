import DispatchStore
import Testing

/// What stops the program in what is above the core: with its message, in release builds too.
@Suite("Misuse", .timeLimit(.minutes(10)))
struct MisuseTests {
  @Test func aModeThatIsNoLaneStopsTheProgram() async {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      Dispatcher(name: "shop").usePriorities(in: .async)
    }
    #expect(result.message.contains("Dispatcher \"shop\" was given mode .async as a lane"))
  }

  @Test func anObserverOfAnElementCanNotBeAddedInAnExclusiveSection() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let store = ParcelStore.parcels()
      store.updateModel { _ in _ = store.observe(.element(\.parcels, 1)) { _ in } }
    }
    #expect(result.message.contains("observed"))
  }

  @Test func anEarlierStateCanNotBeReadInAnExclusiveSection() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let store = CounterStore.counter("basket")
      store.updateModel { _ in _ = DispatchRecorder().state(of: store, at: 0) }
    }
    #expect(result.message.contains("An earlier state of store \"basket\" can't be read inside"))
  }

  @Test func anUndoCanNotBeAskedForInAnExclusiveSection() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let (dispatcher, store) = (Dispatcher(name: "shop"), CounterStore.counter("basket"))
      dispatcher.register(store: store)
      let history = UndoHistory(of: store)
      store.updateModel { _ in _ = history.undo() }
      withExtendedLifetime(dispatcher) {}
    }
    #expect(
      result.message.contains("was asked for inside the exclusive section of store \"basket\""))
  }

  @Test func aRecorderWithALimitOfZeroStopsTheProgram() async {
    await #expect(processExitsWith: .failure) { _ = DispatchRecorder(limit: 0) }
    await #expect(processExitsWith: .failure) { _ = DispatchRecorder(byteLimit: 0) }
  }

  @Test func aHistoryWithALimitOfZeroOrAStoreTwiceStopsTheProgram() async {
    await #expect(processExitsWith: .failure) {
      _ = UndoHistory(of: CounterStore.counter(), limit: 0)
    }
    await #expect(processExitsWith: .failure) {
      let store = CounterStore.counter()
      _ = UndoHistory(of: store, store)
    }
  }

  @Test func aRecorderOfTwoDispatchersStopsTheProgramAndNamesBoth() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let recorder = DispatchRecorder()
      for name in ["shop", "stock"] {
        let dispatcher = Dispatcher(name: name)
        dispatcher.register(store: CounterStore.counter(name))
        dispatcher.register(middleware: recorder)
        dispatcher.dispatch(action: CounterAction.add(1), mode: .sync)
      }
    }
    #expect(result.message.contains("noted dispatches of dispatcher \"shop\""))
    #expect(result.message.contains("those of dispatcher \"stock\""))
  }

  @Test func anAttemptOfWorkThatHasNoTimeStopsTheProgram() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = DurableEffect("mail", on: CounterAction.self, attemptTimeout: .zero) { _, _ in nil }
    }
    #expect(result.message.contains("The durable effect \"mail\" gives each attempt 0.0 seconds"))
  }

  @Test func aMaskThatWouldMaskNothingStopsTheProgram() async {
    await #expect(processExitsWith: .failure) {
      _ = LogMask.type((any CustomStringConvertible).self)
    }
    await #expect(processExitsWith: .failure) { _ = LogMask.field(\Counter.self) }
    await #expect(processExitsWith: .failure) { _ = LogMask.field(\(Int, String).1) }
  }

  @Test func aNegativeBoundOfDeltasStopsTheProgram() async {
    await #expect(processExitsWith: .failure) {
      _ = ParcelStore.parcels().stream(.deltas(\.parcels), buffering: .suspending(-1))
    }
  }

  @Test func aSnapshotInAnExclusiveSectionNamesBothStores() async {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      let (basket, stock) = (CounterStore.counter("basket"), CounterStore.counter("stock"))
      basket.updateModel { _ in _ = Dispatcher().snapshot(stock, CounterStore.counter("other")) }
    }
    #expect(result.message.contains("Store \"stock\" can't be read inside the exclusive section"))
    #expect(result.message.contains("of store \"basket\""))
  }

  @Test(arguments: [false, true])
  func aSelectionInAnExclusiveSectionNamesBothStores(isInSelector: Bool) async {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) { [isInSelector] in
      let (held, other) = (
        CounterStore.counter("held"), CounterStore.counter("other")
      )
      let count = StateSelector(\Counter.count)
      if isInSelector {
        _ = held.select(StateSelector { (_: Counter) in other.select(count) })
      } else {
        held.updateModel { $0.count = other.select(count) }
      }
    }
    #expect(result.message.contains("Store \"other\" can't be read inside"))
    #expect(result.message.contains("exclusive section of store \"held\""))
  }

  @Test func twoTypesOfOneNameStopTheProgramAndAreNamed() async {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      struct First: CodableAction { static var actionName: String { "same" } }
      struct Second: CodableAction { static var actionName: String { "same" } }
      _ = ActionCoder(First.self, Second.self)
    }
    #expect(result.message.contains("can't be registered as \"same\""))
    #expect(result.message.contains("First") && result.message.contains("Second"))
  }
}
