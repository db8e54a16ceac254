import DispatchStore
import Foundation
import Testing

@Suite struct HandlerChangeTests {
  @Test(arguments: Dispatcher.Mode.everyMode)
  func aHandlerAddedLaterIsCalledFromTheNextDispatchOn(mode: Dispatcher.Mode) async {
    let dispatcher = Dispatcher.withoutReports
    let desktop = dispatcher.addDesktop {}
    await dispatcher.dispatch(action: Raise(), mode: mode).ended()
    desktop.handle { On(Raise.self) { $0.raised += $1.by } }
    await dispatcher.dispatch(action: Raise(by: 10), mode: mode).ended()
    await desktop.dispatch(Raise(by: 100), mode: mode).ended()
    #expect(desktop.model.raised == 110)
    #expect(desktop.handledTypes.map { "\($0)" } == ["Raise"])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func theLastHandlerOfATypeCounts(mode: Dispatcher.Mode) async {
    let dispatcher = Dispatcher()
    let desktop = dispatcher.addDesktop {
      On(Raise.self) { desktop, _ in desktop.raised = 1 }
      On(Raise.self) { desktop, _ in desktop.raised = 2 }
    }
    await dispatcher.dispatch(action: Raise(), mode: mode).ended()
    #expect(desktop.model.raised == 2)
    desktop.handle {
      Perform(Raise.self) { _, store in try store.updateModel { $0.raised = 3 } }
    }
    await dispatcher.dispatch(action: Raise(), mode: mode).ended()
    await desktop.dispatch(Raise(), mode: mode).ended()
    #expect(desktop.model.raised == 3 && desktop.version == 3)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func aHandlerThatWasRemovedIsNotCalled(mode: Dispatcher.Mode) async {
    let dispatcher = Dispatcher.withoutReports
    let desktop = dispatcher.addDesktop {
      On(Raise.self) { $0.raised += $1.by }
      On(Lower.self) { $0.raised -= $1.by }
      Perform(Fetch.self) { action, store in try store.updateModel { $0.raised += action.amount } }
    }
    await dispatcher.dispatch(action: Raise(by: 5), mode: mode).ended()
    #expect(desktop.stopHandling(Raise.self))
    #expect(!desktop.stopHandling(Raise.self))
    let result = await dispatcher.dispatch(action: Raise(by: 5), mode: mode).result
    #expect(!result.hasResponders)
    await dispatcher.dispatch(action: Lower(by: 1), mode: mode).ended()
    await dispatcher.dispatch(action: Fetch(amount: 10), mode: mode).ended()
    #expect(desktop.model.raised == 14)
  }

  @Test(arguments: Dispatcher.Mode.offMainModes)
  func aDispatchInFlightKeepsTheHandlersThatTheStoreHad(mode: Dispatcher.Mode) async {
    let dispatcher = Dispatcher()
    dispatcher.queue.isSuspended = true
    let desktop = dispatcher.addDesktop {
      On(Raise.self) { desktop, _ in desktop.raised += 1 }
      Perform(Fetch.self) { _, store in try store.updateModel { $0.raised += 10 } }
    }
    let handles = [
      dispatcher.dispatch(action: Raise(), mode: mode),
      dispatcher.dispatch(action: Fetch(amount: 0), mode: mode),
    ]
    desktop.handle {
      On(Raise.self) { desktop, _ in desktop.raised += 100 }
      On(Fetch.self) { desktop, _ in desktop.raised += 1000 }
    }
    dispatcher.queue.isSuspended = false
    for handle in handles { await handle.ended() }
    #expect(desktop.model.raised == 11)
  }

  @Test(arguments: Dispatcher.Mode.offMainModes, [StoreOwnership.strong, .weak])
  func aDispatchInFlightInItsWrappingKeepsTheHandlersToo(
    mode: Dispatcher.Mode, ownership: StoreOwnership
  ) async {
    let dispatcher = Dispatcher()
    dispatcher.queue.isSuspended = true
    let desktop = dispatcher.addDesktop(ownership: ownership) {
      On(Raise.self) { desktop, _ in desktop.raised += 1 }
      Perform(Fetch.self) { _, store in try store.updateModel { $0.raised += 10 } }
    }
    let actions: [any ActionType] = [Raise(), Fetch(amount: 0)]
    let handles = actions.map { dispatcher.dispatch(HandledAction($0), mode: mode) }
    desktop.stopHandling(Raise.self)
    desktop.handle { On(Fetch.self) { desktop, _ in desktop.raised += 1000 } }
    dispatcher.queue.isSuspended = false
    for handle in handles { await handle.ended() }
    #expect(desktop.model.raised == 11)
  }

  @Test func positionsAmongStoresStay() async {
    let dispatcher = Dispatcher()
    let order = Recorder<String>()
    let stores = ["a", "b", "c"].map { name in
      dispatcher.addDesktop(name) { On(Raise.self) { _, _ in order.record(name) } }
    }
    stores[0].handle { On(Raise.self) { _, _ in order.record("A") } }
    stores[1].stopHandling(Raise.self)
    stores[1].handle { On(Raise.self) { _, _ in order.record("B") } }
    dispatcher.dispatch(action: Raise(), mode: .sync)
    #expect(order.all == ["A", "B", "c"])
  }

  @Test func whatAHandlerHasCapturedIsReleasedWhereItIsReplacedAndItsReleaseMayDispatch() async {
    let dispatcher = Dispatcher()
    let released = EventCount(of: 2)
    let desktop = dispatcher.addDesktop { On(Lower.self) { $0.raised -= $1.by } }
    func add() {
      let witness = Mortal {
        dispatcher.dispatch(action: Lower(), mode: .sync)
        released.add()
      }
      desktop.handle {
        On(Raise.self) { desktop, _ in withExtendedLifetime(witness) { desktop.raised += 1 } }
      }
    }
    add()
    dispatcher.dispatch(action: Raise(), mode: .sync)
    add()
    dispatcher.dispatch(action: Raise(), mode: .sync)
    desktop.stopHandling(Raise.self)
    await released.full()
    #expect(desktop.model.raised == 0)
  }

  /// In a separate process, which an alarm ends if the release waits for a lock that its thread has.
  @Test func whatTheHandlersOfAStoreThatIsGoneHaveCapturedIsReleasedWithNoLockHeld() async {
    await #expect(processExitsWith: .success) {
      alarm(60)
      let (dispatcher, released) = (Dispatcher(), EventCount(of: 1))
      func add() {
        let witness = Mortal { if dispatcher.stores.count == 1 { released.add() } }
        _ = dispatcher.addDesktop(ownership: .weak) {
          On(Raise.self) { desktop, _ in withExtendedLifetime(witness) { desktop.raised += 1 } }
        }
      }
      add()
      while dispatcher.store(with: "desktop") != nil { await Task.yield() }
      let desktop = dispatcher.addDesktop { On(Lower.self) { $0.raised -= $1.by } }
      await released.full()
      #expect(desktop.dispatcher === dispatcher)
    }
  }

  @Test func handlersComeAndGoWhileOtherThreadsDispatch() async {
    let dispatcher = Dispatcher.withoutReports
    let desktop = dispatcher.addDesktop {
      On(Raise.self) { desktop, _ in desktop.raised += 1 }
    }
    let producers = (0..<4).map { _ in
      Task.detached {
        var taken = 0
        for _ in 0..<2_000 {
          let result = await dispatcher.dispatch(action: Raise(), mode: .sync).result
          if result.hasResponders { taken += 1 }
          desktop.dispatch(Lower(by: 0), mode: .sync)
        }
        return taken
      }
    }
    let changes = Task.detached {
      for _ in 0..<500 {
        desktop.stopHandling(Raise.self)
        desktop.handle { On(Raise.self) { desktop, _ in desktop.raised += 1 } }
        desktop.handle { On(Lower.self) { desktop, _ in desktop.raised -= 0 } }
      }
    }
    await changes.value
    var taken = 0
    for producer in producers { taken += await producer.value }
    #expect(desktop.model.raised == taken)
    await dispatcher.dispatch(action: Raise()).ended()
    #expect(desktop.model.raised == taken + 1)
  }

  @Test func handlersAddedWhileTheStoreIsBeingRegisteredAreNotLost() async {
    for _ in 0..<200 {
      let dispatcher = Dispatcher()
      let store = DesktopStore(model: Desktop()) { On(Lower.self) { $0.raised -= $1.by } }
      let registering = Task.detached { _ = dispatcher.register(store: store) }
      store.handle { On(Raise.self) { $0.raised += $1.by } }
      await registering.value
      #expect(
        dispatcher.dispatch(action: Raise(), mode: .sync).resultIfEnded?.hasResponders == true)
    }
  }
}
