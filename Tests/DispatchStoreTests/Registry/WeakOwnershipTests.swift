import DispatchStore
import DispatchStoreTesting
import Testing

private struct Held: Sendable {
  let signal: Mortal
}

@Suite(.timeLimit(.minutes(10)))
struct WeakOwnershipTests {
  private let dispatcher = Dispatcher()
  private let released = Latch()
  private let running = Recorder<RunningOperation<Held, Ping>>()

  /// A store whose operation ends when the test says so.
  private func makeStore(_ ownership: StoreOwnership) -> Store<Held, Ping> {
    let running = running
    let reducer = ClosureReducer<Held, Ping> { action, store in
      ActionOperation(action: action, store: store) { operation, _, _ in
        running.record(operation)
      }
    }
    return dispatcher.register(
      store: Store(
        identifier: "held", model: Held(signal: Mortal(released)), reducer: reducer),
      ownership: ownership)
  }

  @Test(arguments: Dispatcher.Mode.everyMode, [nil, "held"] as [String?])
  func aStoreGoneWhileItsActionIsQueuedEndsThatAsCancelled(
    mode: Dispatcher.Mode, identifier: String?
  ) async {
    let (dispatcher, released) = (dispatcher, released)
    var store: Store<Held, Ping>? = makeStore(.weak)
    #expect(store?.dispatcher === dispatcher)
    let hooks = Recorder<String>()
    let outcomes = Recorder<StoreOutcome?>()
    dispatcher.register(
      middleware: RecordingMiddleware(
        to: hooks, did: { transaction, _, _ in outcomes.record(transaction.outcome) }))
    let free = Latch()
    let held = dispatchElsewhere(until: free)
    let completions = Recorder<DispatchResult>()
    async let handle = onOwnThread {
      dispatcher.dispatch(Ping(), to: identifier, mode: mode, options: .after(held)) {
        completions.record($0)
      }
    }
    _ = await hooks.first(1)
    store = nil
    await released.opened()
    free.open()
    let result = await handle.result
    #expect(result["held"].isCancelled == true)
    #expect(result.error is CancellationError)
    #expect(hooks.all == ["m will held", "m did held"])
    #expect(outcomes.all.first??.isCancelled == true)
    #expect(completions.count == 1)
    #expect(running.count == 0)
  }

  /// Others are not routed anew by what is registered then.
  @Test(arguments: Dispatcher.Mode.everyMode, [true, false])
  func theSnapshotIsThatOfTheCallAlsoIfAStoreGoes(mode: Dispatcher.Mode, goes: Bool) async {
    let (dispatcher, steps, kept) = (dispatcher, Recorder<String>(), Recorder<ProbeStore>())
    kept.record(dispatcher.register(store: .probe("held"), ownership: .weak))
    dispatcher.addProbe("first", to: steps)
    let hook = BeginHook {
      if goes { _ = kept.removeAll() }
      dispatcher.unregister(storeIdentifier: "first")
      dispatcher.addProbe("second", to: steps)
    }
    dispatcher.register(middleware: hook)
    let result = await onOwnThread { dispatcher.dispatch(action: Ping(), mode: mode) }.result
    #expect(result.stores.map(\.storeIdentifier) == (goes ? ["first"] : ["held", "first"]))
    #expect(steps.all == ["+first", "-first"])
    dispatcher.unregister(middleware: hook)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func anActionOfAStoreThatGoesIsNotForThatWhichGetsItsIdentifier(mode: Dispatcher.Mode) async {
    let (dispatcher, steps, kept) = (dispatcher, Recorder<String>(), Recorder<ProbeStore>())
    kept.record(dispatcher.register(store: .probe("held"), ownership: .weak))
    let hook = BeginHook {
      _ = kept.removeAll()
      dispatcher.addProbe("held", to: steps)
    }
    dispatcher.register(middleware: hook)
    let result = await onOwnThread {
      dispatcher.dispatch(storeIdentifier: "held", action: Ping(), mode: mode)
    }.result
    #expect(result.errorCode == .unknownStore)
    #expect(steps.all.isEmpty)
    dispatcher.unregister(middleware: hook)
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func aStoreGoneBetweenTwoAttemptsEndsAsCancelledAfterItsStart(mode: Dispatcher.Mode) async {
    let clock = VirtualClock()
    let dispatcher = Dispatcher(clock: clock)
    let reducer = ClosureReducer<Held, Ping> { action, store in
      ActionOperation(action: action, store: store) { _, _ in throw PingFailure() }
    }
    var store: Store<Held, Ping>? = dispatcher.register(
      store: Store(
        identifier: "held", model: Held(signal: Mortal(released)), reducer: reducer),
      ownership: .weak)
    let options = DispatchOptions.retry(attempts: 2, backoff: .constant(.seconds(1)))
    let handle = store!.dispatch(Ping(), mode: mode, options: options)
    await clock.waitForSleepers(atLeast: 1)
    store = nil
    await released.opened()
    clock.advance(by: .seconds(1))
    let result = await handle.result
    #expect(result.stores.map(\.attemptCount) == [1])
    #expect(result["held"].wasCancelled(afterItsStart: true), "\(result)")
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func aStoreThatIsGoneDoesNotLetOthersRunRegardless(mode: Dispatcher.Mode) async {
    let (steps, dispatched, free) = (Recorder<String>(), Recorder<DispatchHandle>(), Latch())
    var store: Store<Held, Ping>? = makeStore(.weak)
    #expect(store?.dispatcher === dispatcher)
    dispatcher.addProbe("audit", waitFor: WaitFor(["held"], runsRegardless: true), to: steps)
    dispatcher.register(
      middleware: RecordingMiddleware(did: { _, _, store in
        if store.identifier == "held" { dispatched.all.first?.cancel() }
      }))
    let handle = dispatcher.dispatch(
      action: Ping(), mode: mode, options: .after(dispatchElsewhere(until: free)))
    dispatched.record(handle)
    store = nil
    await released.opened()
    free.open()
    let result = await handle.result
    #expect(result["held"].isCancelled == true && result["audit"].isCancelled == true)
    #expect(steps.all.isEmpty)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func aStoreThatIsGoneTakesNoPart(mode: Dispatcher.Mode) async {
    _ = makeStore(.weak)
    await released.opened()
    #expect(dispatcher.store(with: "held") == nil)
    #expect(dispatcher.stores.isEmpty)
    let result = await dispatcher.dispatch(action: Ping(), mode: mode).result
    #expect(result.isSuccess)
    #expect(!result.hasResponders)
  }

  @Test func theIdentifierOfAStoreThatIsGoneIsFreeForAnyType() async {
    _ = makeStore(.weak)
    await released.opened()
    let counter = dispatcher.register(store: .counter("held"))
    #expect(dispatcher.store(with: "held") === counter)
    #expect(dispatcher.stores.count == 1)
    #expect(await dispatcher.dispatch(action: CounterAction.add(2)).result.isSuccess)
    #expect(counter.model.count == 2)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func storesDoNotWaitForOneThatIsGone(mode: Dispatcher.Mode) async {
    _ = makeStore(.weak)
    await released.opened()
    let steps = Recorder<String>()
    dispatcher.addProbe("after", waitFor: ["held"], to: steps)
    for _ in 0..<2 {
      #expect(await dispatcher.dispatch(action: Ping(), mode: mode).result.isSuccess)
    }
    #expect(steps.count == 4)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func anOperationKeepsItsStoreAliveUntilItEnds(mode: Dispatcher.Mode) async {
    let dispatcher = dispatcher
    var store: Store<Held, Ping>? = makeStore(.weak)
    async let handle = onOwnThread { dispatcher.dispatch(action: Ping(), mode: mode) }
    #expect(await running.first(1)[0].operation.store === store)
    store = nil
    #expect(!released.isOpen)
    #expect(dispatcher.store(with: "held") != nil)
    await running.first(1)[0].finish()
    #expect(await handle.result["held"].isFinished == true)
  }

  @Test func aStronglyHeldStoreLivesUntilItIsUnregistered() async {
    _ = makeStore(.strong)
    #expect(dispatcher.store(with: "held") != nil)
    #expect(!released.isOpen)
    dispatcher.unregister(storeIdentifier: "held")
    await released.opened()
  }
}
