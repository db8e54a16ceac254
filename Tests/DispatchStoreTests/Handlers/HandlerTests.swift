import DispatchStore
import DispatchStoreTesting
import Testing

@Suite struct HandlerTests {
  @Test(arguments: Dispatcher.Mode.everyMode)
  func aStoreRespondsToEachTypeThatItHasAHandlerFor(mode: Dispatcher.Mode) async {
    let dispatcher = Dispatcher()
    let desktop = dispatcher.addDesktop {
      On(Raise.self) { desktop, action in desktop.raised += action.by }
      On(Lower.self) { desktop, action in desktop.raised -= action.by }
    }
    await dispatcher.dispatch(action: Raise(by: 5), mode: mode).ended()
    await desktop.dispatch(Lower(by: 2), mode: mode).ended()
    #expect(desktop.model.raised == 3)
    #expect(desktop.version == 2)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func aStoreWithoutAHandlerForAnActionTakesNoPart(mode: Dispatcher.Mode) async {
    let dispatcher = Dispatcher()
    let observed = EventCount(of: 1)
    let raises = dispatcher.addDesktop("raises") {
      On(Raise.self) { desktop, action in desktop.raised += action.by }
    }
    let lowers = dispatcher.addDesktop("lowers") {
      On(Lower.self) { desktop, action in desktop.raised -= action.by }
    }
    let token = lowers.observe(.model) { _ in observed.add() }
    let result = await dispatcher.dispatch(action: Raise(), mode: mode).result
    #expect(result.stores.map(\.storeIdentifier) == ["raises"])
    #expect(raises.version == 1 && lowers.version == 0 && observed.count == 0)
    token.cancel()
  }

  @Test func anActionThatNoHandlerHandlesIsReportedOnce() async {
    let warnings = Recorder<String>()
    let dispatcher = Dispatcher()
    dispatcher.onWarning { warnings.record($0.message) }
    let desktop = dispatcher.addDesktop { On(Raise.self) { $0.raised += $1.by } }
    for _ in 0..<3 {
      let result = await desktop.dispatch(Lower()).result
      #expect(result.isSuccess && !result.hasResponders)
    }
    #expect(warnings.all.count == 1)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func eachKindOfHandlerChangesItsStore(mode: Dispatcher.Mode) async {
    let dispatcher = Dispatcher()
    let desktop = dispatcher.addDesktop {
      On(Raise.self) { desktop, action in desktop.raised += action.by }
      Perform(Lower.self) { action, store in
        try store.updateModel { $0.raised -= action.by }
        try store.updateModel { $0.drawer.papers += 1 }
      }
      Perform(Fetch.self) { action, store in
        await Task.yield()
        try store.updateModel { $0.drawer.papers += action.amount }
      }
      Perform(Load.Request.self) { action, store in
        try store.updateModel { $0.secret = .init(papers: action.papers) }
      }
    }
    await dispatcher.dispatch(action: Raise(by: 9), mode: mode).ended()
    await dispatcher.dispatch(action: Lower(by: 1), mode: mode).ended()
    await dispatcher.dispatch(action: Fetch(amount: 10), mode: mode).ended()
    await dispatcher.dispatch(action: Load.Request(papers: 7), mode: mode).ended()
    #expect(
      desktop.model == Desktop(raised: 8, drawer: .init(papers: 11), secret: .init(papers: 7)))
    #expect(desktop.version == 5)
  }

  enum Load {
    struct Request: ActionType { let papers: Int }
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func observersGetTheActionThatRan(mode: Dispatcher.Mode) async {
    let dispatcher = Dispatcher()
    let desktop = dispatcher.addDesktop {
      On(Raise.self) { desktop, action in desktop.raised += action.by }
      Perform(Lower.self) { action, store in try store.updateModel { $0.raised -= action.by } }
      Perform(Fetch.self) { action, store in
        await Task.yield()
        try store.updateModel { $0.drawer.papers += action.amount }
      }
    }
    let seen = Recorder<String>()
    let token = desktop.observe(.model) { seen.record("\($0.action!)") }
    await dispatcher.dispatch(action: Raise(by: 2), mode: mode).ended()
    await dispatcher.dispatch(action: Lower(by: 3), mode: mode).ended()
    await dispatcher.dispatch(action: Fetch(amount: 4), mode: mode).ended()
    #expect(
      seen.all == [
        "\(Raise(by: 2))", "\(Lower(by: 3))", "\(Fetch(amount: 4))",
      ])
    token.cancel()
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func hooksGetTheActionItselfAndMayReplaceIt(mode: Dispatcher.Mode) async {
    let (dispatcher, seen) = (Dispatcher(), Recorder<String>())
    dispatcher.register(
      middleware: RecordingMiddleware(
        will: { _, action, _ in
          (action as? Raise).map { .replace(with: Raise(by: $0.by * 2)) } ?? .pass
        }, did: { _, action, _ in seen.record("\(action)") }))
    let desktop = dispatcher.addDesktop {
      On(Raise.self) { desktop, action in desktop.raised += action.by }
      Perform(Fetch.self) { action, store in try store.updateModel { $0.raised += action.amount } }
    }
    await dispatcher.dispatch(action: Raise(by: 3), mode: mode).ended()
    await dispatcher.dispatch(action: Fetch(amount: 1), mode: mode).ended()
    #expect(desktop.model.raised == 7)
    #expect(seen.all == ["\(Raise(by: 6))", "\(Fetch(amount: 1))"])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func anErrorOfAHandlerFailsItsStoreAndThoseThatWait(mode: Dispatcher.Mode) async {
    let dispatcher = Dispatcher()
    let first = dispatcher.addDesktop("first") {
      On(Raise.self) { desktop, _ in
        desktop.raised = 1
        throw Broken()
      }
    }
    let second = dispatcher.addDesktop("second", waitFor: [first]) {
      On(Raise.self) { desktop, _ in desktop.raised = 1 }
    }
    let result = await dispatcher.dispatch(action: Raise(), mode: mode).result
    #expect(result["first"].error is Broken)
    #expect(result["second"].errorCode == .dependencyFailed)
    #expect(first.version == 1 && second.version == 0)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func storesOfHandlersWaitForEachOtherAsOthersDo(mode: Dispatcher.Mode) async {
    let dispatcher = Dispatcher()
    let order = Recorder<String>()
    let late = dispatcher.addDesktop("late", waitFor: ["early"]) {
      On(Raise.self) { _, _ in order.record("late") }
    }
    let early = dispatcher.addDesktop("early") {
      Perform(Raise.self) { _, _ in
        await Task.yield()
        order.record("early")
      }
    }
    await dispatcher.dispatch(action: Raise(), mode: mode).ended()
    #expect(order.all == ["early", "late"])
    withExtendedLifetime((late, early)) {}
  }

  @Test(arguments: [Dispatcher.Mode.async, .serial, .mainThread])
  func eachKindOfHandlerReplies(mode: Dispatcher.Mode) async throws {
    for kind in 0..<3 {
      let dispatcher = Dispatcher()
      let desktop = dispatcher.addDesktop {
        switch kind {
        case 0:
          On(Price.self) { desktop, action -> String in
            desktop.raised += 1
            return "\(action.item): \(desktop.raised)"
          }
        case 1: Perform(Price.self) { action, store in "\(action.item): 1" }
        default:
          Perform(Price.self) { action, store in
            await Task.yield()
            return "\(action.item): 1"
          }
        }
      }
      #expect(try await desktop.send(Price(item: "ink"), mode: .init(mode)!).reply == "ink: 1")
      #expect(
        try await dispatcher.send(Price(item: "pen"), mode: mode).reply.hasPrefix("pen"))
    }
  }

  @Test func anActionDispatchedInItsWrappingIsHandledAgain() async throws {
    let dispatcher = Dispatcher()
    let desktop = dispatcher.addDesktop {
      On(Raise.self) { desktop, action in desktop.raised += action.by }
    }
    let seen = Recorder<HandledAction>()
    let token = desktop.observe(.model) { if let action = $0.action { seen.record(action) } }
    desktop.dispatch(Raise(by: 4), mode: .sync)
    token.cancel()
    let wrapped = try #require(seen.all.first)
    #expect(wrapped.base as? Raise == Raise(by: 4))
    for mode in Dispatcher.Mode.everyMode { await desktop.dispatch(wrapped, mode: mode).ended() }
    #expect(desktop.model.raised == 4 + 4 * Dispatcher.Mode.everyMode.count)
  }

  @Test func anActionIsWrappedOnceAtMost() {
    let dispatcher = Dispatcher()
    let desktop = dispatcher.addDesktop {
      On(Raise.self) { desktop, action in desktop.raised += action.by }
    }
    let wrapped = HandledAction(HandledAction(Raise(by: 4)))
    #expect(wrapped.base as? Raise == Raise(by: 4))
    desktop.dispatch(wrapped, mode: .sync)
    #expect(desktop.model.raised == 4)
  }

  /// The reducers of later stores may be where those of earlier ones were.
  @Test func anActionInItsWrappingIsNotHandledByTheHandlerOfAStoreThatHasGone() throws {
    var kept: [HandledAction] = []
    for round in 1...100 {
      let (dispatcher, seen) = (Dispatcher(), Recorder<HandledAction>())
      let store = dispatcher.register(
        store: Store(identifier: "numbers", model: 0) {
          On(Raise.self) { number, _ in number = round }
        })
      for action in kept {
        dispatcher.dispatch(action, mode: .sync)
        #expect(store.model == round)
      }
      let token = store.observe(.model) { if let action = $0.action { seen.record(action) } }
      dispatcher.dispatch(Raise(), mode: .sync)
      token.cancel()
      kept.append(try #require(seen.all.first))
      kept = Array(kept.suffix(5))
    }
  }

  struct Refused: Error {}
  struct RaiseAll: AtomicAction {}

  /// The stores' models have the same type, and so do their handlers.
  @Test(arguments: Dispatcher.Mode.everyMode)
  func anActionInItsWrappingIsHandledByEachStoresOwnHandler(mode: Dispatcher.Mode) async throws {
    let (dispatcher, seen) = (Dispatcher(), Recorder<HandledAction>())
    let stores = [false, true].map { throwing in
      dispatcher.register(
        store: Store(identifier: "\(throwing)", model: 0) {
          On(Raise.self) { number, action in
            if throwing { throw Refused() }
            number += action.by
          }
          On(withoutReply: RaiseAll.self) { number, _ in number += 1 }
        })
    }
    let token = stores[0].observe(.model) { if let action = $0.action { seen.record(action) } }
    await dispatcher.dispatch(Raise(by: 4), mode: mode).ended()
    await dispatcher.dispatch(RaiseAll(), mode: mode).ended()
    token.cancel()
    let (raise, all) = (seen.all[0], seen.all[1])
    let again = await dispatcher.dispatch(raise, mode: mode).result
    #expect(again["false"].isFinished == true && again["true"].isFinished == false)
    #expect(again.error is Refused)
    #expect(stores.map(\.model) == [9, 1])
    // An action in its wrapping is never atomic, so an atomic one is refused.
    #expect(await dispatcher.dispatch(all, mode: mode).result.dispatchError?.code == .notAtomic)
    #expect(stores.map(\.model) == [9, 1])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func aWeaklyHeldStoreOfHandlersResponds(mode: Dispatcher.Mode) async {
    let dispatcher = Dispatcher()
    let desktop = dispatcher.addDesktop(ownership: .weak) {
      On(Raise.self) { desktop, action in desktop.raised += action.by }
      Perform(Lower.self) { action, store in try store.updateModel { $0.raised -= action.by } }
      Perform(Fetch.self) { action, store in try store.updateModel { $0.raised += action.amount } }
    }
    let actions: [any ActionType] = [Raise(by: 5), Lower(by: 1), Fetch(amount: 10)]
    await dispatcher.dispatch(actions: actions, mode: mode).ended()
    #expect(desktop.model.raised == 14)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func aWeaklyHeldStoreOfHandlersThatHasGoneTakesNoPart(mode: Dispatcher.Mode) async {
    struct Vault: Sendable {
      let signal: Mortal
      var count = 0
    }
    let dispatcher = Dispatcher.withoutReports
    let released = Latch()
    var vault: HandlerStore<Vault>? = dispatcher.register(
      store: Store(identifier: "vault", model: Vault(signal: Mortal(released))) {
        On(Raise.self) { vault, action in vault.count += action.by }
        Part(\.count) {
          Perform(Lower.self) { action, count in try count.updateModel { $0 -= action.by } }
          Perform(Fetch.self) { action, count in try count.updateModel { $0 += action.amount } }
        }
      }, ownership: .weak)
    vault?.handle { On(Price.self) { _, action -> String in action.item } }
    let actions: [any ActionType] = [Raise(by: 1), Lower(by: 2), Fetch(amount: 3)]
    for action in actions { await dispatcher.dispatch(action: action, mode: mode).ended() }
    #expect(vault?.model.count == 2)
    vault = nil
    await released.opened()
    for action in actions + [Price(item: "ink")] {
      #expect(await !dispatcher.dispatch(action: action, mode: mode).result.hasResponders)
    }
  }

  @Test func classesOfActionsReachTheNearestHandlerAndAStoreOnce() async {
    class Event: ActionType, @unchecked Sendable {}
    class Click: Event, @unchecked Sendable {}
    final class DoubleClick: Click, @unchecked Sendable {}
    let dispatcher = Dispatcher()
    let order = Recorder<String>()
    let both = dispatcher.addDesktop("both") {
      On(Event.self) { _, _ in order.record("both: event") }
      On(Click.self) { _, _ in order.record("both: click") }
    }
    let one = dispatcher.addDesktop("one") {
      On(Event.self) { _, _ in order.record("one: event") }
    }
    for action in [Event(), Click(), DoubleClick()] {
      dispatcher.dispatch(action: action, mode: .sync)
      both.dispatch(action, mode: .sync)
    }
    #expect(
      order.all == [
        "both: event", "one: event", "both: event", "both: click", "one: event", "both: click",
        "both: click", "one: event", "both: click",
      ])
    #expect(one.version == 3)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func aTestStoreAssertsWhatHandlersDo(mode: Dispatcher.Mode) async {
    let desktop = DesktopStore(identifier: "desktop", model: Desktop()) {
      On(Raise.self) { desktop, action in desktop.raised += action.by }
      Perform(Fetch.self) { action, store in
        try store.updateModel { $0.drawer.papers += action.amount }
        store.dispatcher.dispatch(Raise(by: 2))
      }
    }
    let testStore = TestStore(desktop, mode: mode)
    await testStore.send(Raise(by: 1)) { $0.raised = 1 }
    await testStore.send(Fetch(amount: 3)) { $0.drawer.papers = 3 }
    await testStore.receive(Raise(by: 2)) { $0.raised = 3 }
    await testStore.finish()
  }
  @Test(arguments: Dispatcher.Mode.everyMode)
  func hooksSeeWhatTheyHandle(mode: Dispatcher.Mode) async {
    let dispatcher = Dispatcher()
    let desktop = dispatcher.addDesktop {
      On(Raise.self) { desktop, action in desktop.raised += action.by }
      Perform(Fetch.self) { action, store in try store.updateModel { $0.raised += action.amount } }
    }
    let recorder = StateRecorder<Desktop, HandledAction>()
    dispatcher.register(recorder.hook)
    dispatcher.register(
      .before(desktop) { action, _ in
        (action.base as? Raise).map { .replace(with: HandledAction(Raise(by: $0.by + 1))) } ?? .pass
      })
    await dispatcher.dispatch(action: Raise(by: 1), mode: mode).ended()
    await dispatcher.dispatch(action: Fetch(amount: 5), mode: mode).ended()
    #expect(
      recorder.entries.map { "\($0.action)" } == [
        "\(Raise(by: 2))", "\(Fetch(amount: 5))",
      ])
    #expect(recorder.entries.map(\.newModel.raised) == [2, 7])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func aReplacementOfAnotherTypeFailsAnActionInItsWrappingToo(mode: Dispatcher.Mode) async {
    let dispatcher = Dispatcher()
    let desktop = dispatcher.addDesktop {
      On(Raise.self) { desktop, action in desktop.raised += action.by }
      On(Lower.self) { desktop, action in desktop.raised -= action.by }
    }
    dispatcher.register(.before(Raise.self) { _, _ in .replace(with: Lower()) })
    let actions: [any ActionType] = [Raise(), HandledAction(Raise())]
    for action in actions {
      let result = await dispatcher.dispatch(action: action, mode: mode).result
      let error = result["desktop"].dispatchError
      #expect(error?.code == .middlewareFailed)
      #expect(error?.message.contains("type Raise by one of type Lower") == true)
    }
    #expect(desktop.version == 0)
  }
}
