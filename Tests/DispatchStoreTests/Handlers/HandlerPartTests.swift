import DispatchStore
import Testing

@Suite struct HandlerPartTests {
  @Test(arguments: Dispatcher.Mode.everyMode)
  func changeTheirPartOfTheModel(mode: Dispatcher.Mode) async {
    let dispatcher = Dispatcher()
    let desktop = dispatcher.addDesktop {
      Part(\.drawer) {
        On(Fetch.self) { drawer, action in drawer.papers += action.amount }
        Part(\.papers) { On(Lower.self) { papers, action in papers -= action.by } }
      }
    }
    await dispatcher.dispatch(action: Fetch(amount: 5), mode: mode).ended()
    await dispatcher.dispatch(action: Lower(by: 2), mode: mode).ended()
    #expect(desktop.model == Desktop(drawer: .init(papers: 3)))
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func severalPartsHandleAnActionInOrderInOneCommit(mode: Dispatcher.Mode) async {
    let dispatcher = Dispatcher()
    let order = Recorder<String>()
    let desktop = dispatcher.addDesktop {
      Part(\.drawer) {
        On(Raise.self) { drawer, action in
          order.record("drawer")
          drawer.papers += action.by
        }
      }
      On(Raise.self) { desktop, action in
        order.record("desktop")
        desktop.raised += desktop.drawer.papers
      }
    }
    await dispatcher.dispatch(action: Raise(by: 3), mode: mode).ended()
    #expect(desktop.model == Desktop(raised: 3, drawer: .init(papers: 3)))
    #expect(desktop.version == 1)
    #expect(order.all == ["drawer", "desktop"])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func anOptionalAndItsValueAreTwoParts(mode: Dispatcher.Mode) async {
    let dispatcher = Dispatcher()
    let desktop = dispatcher.addDesktop {
      Part(\.secret) {
        On<Desktop.Drawer?>(Raise.self) { secret, _ in secret = secret ?? Desktop.Drawer() }
      }
      Part(\.secret) {
        On<Desktop.Drawer>(Raise.self) { secret, action in secret.papers += action.by }
      }
    }
    await dispatcher.dispatch(action: Raise(by: 3), mode: mode).ended()
    #expect(desktop.model.secret?.papers == 3 && desktop.version == 1)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func theLastHandlerOfAPartCountsHoweverItsPathIsWritten(mode: Dispatcher.Mode) async {
    let dispatcher = Dispatcher()
    let desktop = dispatcher.addDesktop {
      Part(\.drawer.papers) { On(Raise.self) { papers, action in papers += 10 * action.by } }
      Part(\.drawer) {
        Part(\.papers) { On(Raise.self) { papers, action in papers += action.by } }
      }
    }
    await dispatcher.dispatch(action: Raise(by: 3), mode: mode).ended()
    #expect(desktop.model == Desktop(drawer: .init(papers: 3)))
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func anAbsentPartChangesNothing(mode: Dispatcher.Mode) async {
    let dispatcher = Dispatcher()
    let desktop = dispatcher.addDesktop {
      Part(\.secret) { On(Raise.self) { secret, action in secret.papers += action.by } }
    }
    await dispatcher.dispatch(action: Raise(), mode: mode).ended()
    #expect(desktop.version == 0)
    desktop.updateModel { $0.secret = .init() }
    await dispatcher.dispatch(action: Raise(by: 2), mode: mode).ended()
    #expect(desktop.model.secret?.papers == 2 && desktop.version == 2)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func thereIsNoCommitWhereAllOfThemSayThatNothingChanges(mode: Dispatcher.Mode) async {
    let dispatcher = Dispatcher()
    let desktop = dispatcher.addDesktop {
      On(Raise.self) { desktop, action in
        guard action.by > 0 else { return Reduction.unchanged() }
        desktop.raised += action.by
      }
      Part(\.drawer) {
        On(Raise.self) { drawer, action in
          guard action.by > 1 else { return Reduction.unchanged() }
          drawer.papers += action.by
        }
      }
    }
    for isObserved in [false, true] {
      let token = isObserved ? desktop.observe(.model) { _ in } : nil
      let version = desktop.version
      await dispatcher.dispatch(action: Raise(by: 0), mode: mode).ended()
      #expect(desktop.version == version)
      await dispatcher.dispatch(action: Raise(by: 1), mode: mode).ended()
      await dispatcher.dispatch(action: Raise(by: 2), mode: mode).ended()
      #expect(desktop.version == version + 2)
      token?.cancel()
    }
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func whatTheyChangedBeforeOneThrewIsCommitted(mode: Dispatcher.Mode) async {
    let dispatcher = Dispatcher()
    let desktop = dispatcher.addDesktop {
      Part(\.drawer) { On(Raise.self) { drawer, _ in drawer.papers = 1 } }
      On(Raise.self) { _, _ in throw Broken() }
      Part(\.secret) { On(Raise.self) { secret, _ in secret.papers = 1 } }
    }
    let result = await dispatcher.dispatch(action: Raise(), mode: mode).result
    #expect(result.error is Broken)
    #expect(desktop.model == Desktop(drawer: .init(papers: 1)) && desktop.version == 1)
  }

  @Test func aNamedGroupServesManyStoresAndParts() async {
    let drawers = Handlers<Desktop> {
      Part(\.drawer) { On(Raise.self) { drawer, action in drawer.papers += action.by } }
    }
    let dispatcher = Dispatcher()
    let stores = (0..<3).map { index in
      dispatcher.register(
        store: Store(identifier: "\(index)", model: Desktop()) {
          drawers
          On(Lower.self) { desktop, action in desktop.raised -= action.by }
        })
    }
    dispatcher.dispatch(action: Raise(by: 2), mode: .sync)
    dispatcher.dispatch(storeIdentifier: "1", action: Lower(by: 1), mode: .sync)
    #expect(stores.map(\.model.drawer.papers) == [2, 2, 2])
    #expect(stores.map(\.model.raised) == [0, -1, 0])
  }

  @Test func aHandlerThatDoesMoreThanReduceCanNotBeCombined() async {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      _ = Store(model: Desktop()) {
        Part(\.drawer) { On(Raise.self) { drawer, _ in drawer.papers = 1 } }
        Perform(Raise.self) { _, _ in }
      }
    }
    #expect(result.message.contains("Several handlers of Raise"))
  }
}
