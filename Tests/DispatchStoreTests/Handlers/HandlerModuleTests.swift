import DispatchStore
import Testing

/// Handlers in a `Part` that do more than reduce.
@Suite("Modules", .timeLimit(.minutes(10)))
struct HandlerModuleTests {
  private struct Fill: ActionType { let papers: Int }

  /// Changes a drawer by each kind of handler.
  private static let drawer = Handlers<Desktop.Drawer> {
    On(Raise.self) { drawer, action in drawer.papers += action.by }
    Perform(Lower.self) { action, drawer in
      let papers = try drawer.model.papers
      try drawer.updateModel { $0.papers = papers - action.by }
    }
    Perform(Fetch.self) { action, drawer in
      await Task.yield()
      try drawer.updateModel { $0.papers += action.amount }
      await Task.yield()
      let more = try drawer.withModel { $0.papers > 0 } ? 100 : 0
      try drawer.updateModel { $0.papers += more }
    }
    Perform(Fill.self) { action, drawer in
      try drawer.updateModel { $0.papers += action.papers }
    }
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func areTheSameInAPartAndByThemselves(mode: Dispatcher.Mode) async {
    let dispatcher = Dispatcher()
    let whole = dispatcher.register(
      store: Store(identifier: "drawer", model: Desktop.Drawer()) { Self.drawer })
    let desktop = dispatcher.addDesktop { Part(\.drawer) { Self.drawer } }
    let actions: [any ActionType] = [
      Raise(by: 50), Lower(by: 1), Fetch(amount: 20), Fill(papers: 1_000),
    ]
    for action in actions { await dispatcher.dispatch(action: action, mode: mode).ended() }
    #expect(whole.model.papers == 1_169 && whole.version == 5)
    #expect(desktop.model == Desktop(drawer: .init(papers: 1_169)) && desktop.version == 5)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func inPartsOfPartsChangeTheirPartAlone(mode: Dispatcher.Mode) async {
    let dispatcher = Dispatcher()
    let desktop = dispatcher.addDesktop {
      Part(\.drawer) {
        Part(\.papers) {
          Perform(Fetch.self) { action, papers in try papers.updateModel { $0 += action.amount } }
          Perform(Lower.self) { action, papers in try papers.updateModel { $0 -= action.by } }
        }
      }
    }
    await dispatcher.dispatch(action: Fetch(amount: 7), mode: mode).ended()
    await dispatcher.dispatch(action: Lower(by: 2), mode: mode).ended()
    #expect(desktop.model == Desktop(drawer: .init(papers: 5)))
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func theirUpdatesAreCommitsOfTheDispatch(mode: Dispatcher.Mode) async {
    let dispatcher = Dispatcher()
    let desktop = dispatcher.addDesktop { Part(\.drawer) { Self.drawer } }
    let (seen, transactions) = (Recorder<String>(), Recorder<DispatchID?>())
    let token = desktop.observe(.model) { change in
      seen.record("\(change.action!)")
      transactions.record(change.dispatchID)
    }
    var expected: [DispatchID?] = []
    for action in [Lower(by: 3), Fetch(amount: 4), Fill(papers: 5)] as [any ActionType] {
      let result = await dispatcher.dispatch(action: action, mode: mode).result
      expected += Array(repeating: result.dispatchID, count: action is Fetch ? 2 : 1)
    }
    let names = [Lower(by: 3), Fetch(amount: 4), Fetch(amount: 4), Fill(papers: 5)] as [Any]
    #expect(seen.all == names.map { "\($0)" })
    #expect(transactions.all == expected)
    token.cancel()
  }

  @Test(arguments: [Dispatcher.SendMode.async, .serial, .mainThread])
  func replyFromTheirPart(mode: Dispatcher.SendMode) async throws {
    for suspends in [false, true] {
      let dispatcher = Dispatcher()
      let desktop = dispatcher.addDesktop {
        Part(\.drawer) {
          if suspends {
            Perform(Price.self) { action, drawer in
              await Task.yield()
              try drawer.updateModel { $0.papers += 1 }
              return "\(action.item): \(try drawer.model.papers)"
            }
          } else {
            Perform(Price.self) { action, drawer in
              try drawer.updateModel { $0.papers += 1 }
              return "\(action.item): \(try drawer.model.papers)"
            }
          }
        }
      }
      #expect(try await desktop.send(Price(item: "ink"), mode: mode).reply == "ink: 1")
      #expect(desktop.model.drawer.papers == 1)
    }
  }

  @Test(arguments: [Dispatcher.SendMode.async, .serial, .mainThread])
  func leaveTheReplyToAnotherStore(mode: Dispatcher.SendMode) async throws {
    let dispatcher = Dispatcher()
    let shop = dispatcher.register(
      store: Store(identifier: "shop", model: 1) { On(Price.self) { count, action in "\(count)" } })
    let audits = dispatcher.addDesktop {
      On(withoutReply: Price.self) { desktop, _ in desktop.raised += 1 }
      Part(\.drawer) { Perform(withoutReply: Fetch.self) { _, _ in } }
    }
    dispatcher.register(
      store: Store(identifier: "performs", model: 0) {
        Perform(withoutReply: Price.self) { _, count in try count.updateModel { $0 += 1 } }
      })
    dispatcher.register(
      store: Store(identifier: "suspends", model: 0) {
        Perform(withoutReply: Price.self) { _, count in
          await Task.yield()
          try count.updateModel { $0 += 1 }
        }
      })
    let sent = await dispatcher.send(Price(item: "ink"), mode: mode)
    #expect(try sent.reply == "1")
    #expect(try sent.reply(from: shop) == "1")
    #expect(throws: DispatchError.self) { try sent.reply(from: audits) }
    #expect(sent[audits].isFinished && audits.model.raised == 1)
  }

  /// A store whose handlers record whether their dispatcher is this one.
  private func makeLate(of dispatcher: Dispatcher, _ names: Recorder<Bool>) -> HandlerStore<Int> {
    Store(identifier: "late", model: 0) {
      Perform(Raise.self) { _, context in names.record(context.dispatcher === dispatcher) }
      Perform(Fetch.self) { _, context in
        await Task.yield()
        names.record(context.dispatcher === dispatcher)
      }
    }
  }

  @Test(arguments: Dispatcher.Mode.everyMode, [false, true])
  func getTheDispatcherAlsoAfterTheirStoreWasUnregistered(
    mode: Dispatcher.Mode, isControlled: Bool
  ) async {
    let options: DispatchOptions = isControlled ? .timeout(.seconds(600)) : []
    let dispatcher = Dispatcher()
    let names = Recorder<Bool>()
    let store = makeLate(of: dispatcher, names)
    dispatcher.register(store: store)
    let before = dispatcher.register(
      store: Store(identifier: "before", model: 0) {
        Perform(Raise.self) { _, context in context.dispatcher.unregister(store: store) }
        Perform(Fetch.self) { _, context in
          await Task.yield()
          context.dispatcher.unregister(store: store)
        }
      })
    for action in [Raise(), Fetch(amount: 1)] as [any ActionType] {
      dispatcher.unregister(store: store)
      dispatcher.register(store: store, waitFor: [before])
      let result = await dispatcher.dispatch(action: action, mode: mode, options: options).result
      #expect(result.isSuccess && result[store].isFinished)
      #expect(store.dispatcher == nil)
      dispatcher.register(store: store, waitFor: [before])
      let list = await dispatcher.dispatch(actions: [action], mode: mode, options: options).result
      #expect(list.isSuccess)
    }
    #expect(names.all == [true, true, true, true])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func getTheDispatcherThatRunsThemAlsoAfterTheirStoreWasRegisteredWithAnother(
    mode: Dispatcher.Mode
  ) async {
    let (dispatcher, other) = (Dispatcher(), Dispatcher())
    let names = Recorder<Bool>()
    let store = makeLate(of: dispatcher, names)
    @Sendable func move() {
      dispatcher.unregister(store: store)
      other.register(store: store)
    }
    let before = dispatcher.register(
      store: Store(identifier: "before", model: 0) {
        Perform(Raise.self) { _, _ in move() }
        Perform(Fetch.self) { _, _ in
          await Task.yield()
          move()
        }
      })
    for action in [Raise(), Fetch(amount: 1)] as [any ActionType] {
      other.unregister(store: store)
      dispatcher.register(store: store, waitFor: [before])
      #expect(await dispatcher.dispatch(action: action, mode: mode).result.isSuccess)
      #expect(store.dispatcher === other)
    }
    #expect(names.all == [true, true])
  }

  /// Other modules get them, and hooks see the actions themselves.
  @Test(arguments: Dispatcher.Mode.everyMode)
  func dispatchAnyActionToTheirStore(mode: Dispatcher.Mode) async {
    let dispatcher = Dispatcher()
    let seen = Recorder<String>()
    dispatcher.register(
      middleware: RecordingMiddleware(did: { _, action, _ in seen.record("\(action)") }))
    let desktop = dispatcher.addDesktop {
      On(Raise.self) { desktop, action in desktop.raised += action.by }
      Part(\.drawer) {
        Perform(Fetch.self) { action, drawer in
          let (dispatcher, store) = (drawer.dispatcher, drawer.storeIdentifier)
          await dispatcher.send(Raise(by: action.amount), to: store)
          await dispatcher.dispatch(
            storeIdentifier: store, actions: [Raise(by: 10), Lower(by: 1)], mode: .async
          ).ended()
          await dispatcher.dispatch(Raise(by: 100), to: store).ended()
        }
        Perform(Lower.self) { action, drawer in try drawer.updateModel { $0.papers -= action.by } }
      }
    }
    await dispatcher.dispatch(action: Fetch(amount: 5), mode: mode).ended()
    #expect(desktop.model == Desktop(raised: 115, drawer: .init(papers: -1)))
    #expect(
      seen.all
        == [Raise(by: 5), Raise(by: 10), Lower(by: 1), Raise(by: 100), Fetch(amount: 5)].map {
          (action: any ActionType) in "\(action)"
        })
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func ofAWeaklyHeldStoreRespond(mode: Dispatcher.Mode) async {
    let dispatcher = Dispatcher()
    let desktop = dispatcher.addDesktop(ownership: .weak) {
      Part(\.drawer) { Self.drawer }
    }
    let actions: [any ActionType] = [Lower(by: 1), Fetch(amount: 10), Fill(papers: 5)]
    for action in actions { await dispatcher.dispatch(action: action, mode: mode).ended() }
    #expect(desktop.model.drawer.papers == 114)
  }

  @Test func performInTheirIsolationAndAreCancelledWithTheirDispatch() async {
    let dispatcher = Dispatcher()
    let (began, cancelled) = (Latch(), Latch())
    let desktop = dispatcher.addDesktop {
      Part(\.drawer) {
        Perform(Fetch.self) { @MainActor action, drawer async throws in
          MainActor.assertIsolated()
          try drawer.updateModel { $0.papers += action.amount }
        }
        Perform(Raise.self) { _, drawer in
          await withTaskCancellationHandler {
            began.open()
            await cancelled.opened()
          } onCancel: {
            cancelled.open()
          }
          try drawer.updateModel { $0.papers += 1 }
          try Task.checkCancellation()
        }
      }
    }
    await dispatcher.dispatch(action: Fetch(amount: 2)).ended()
    let handle = dispatcher.dispatch(action: Raise())
    await began.opened()
    handle.cancel()
    let result = await handle.result
    #expect(result["desktop"].isCancelled == true)
    #expect(desktop.model.drawer.papers == 3)
  }

  @Test func ofSiblingPartsLoseNothing() async {
    let dispatcher = Dispatcher()
    let desktop = dispatcher.addDesktop {
      Part(\.drawer) { Self.drawer }
      Part(\.raised) {
        Perform(Price.self) { action, raised in
          try raised.updateModel { $0 += 1 }
          return action.item
        }
      }
    }
    let count = Load.count(200, long: 2_000)
    let ended = EventCount(of: 8 * count)
    await onOwnThreads(8) { index in
      for number in 0..<count {
        let mode = Dispatcher.Mode.everyMode[(index + number) % Dispatcher.Mode.everyMode.count]
        if index % 2 == 0 {
          dispatcher.dispatch(action: Fill(papers: 1), mode: mode) { ended.add() }
        } else {
          dispatcher.dispatch(action: Price(item: "ink"), mode: mode) { ended.add() }
        }
      }
    }
    await ended.full()
    #expect(desktop.model == Desktop(raised: 4 * count, drawer: .init(papers: 4 * count)))
    #expect(desktop.version == 8 * count)
  }
}

/// Handlers in a `Part` that may be gone.
@Suite("Modules that may be gone", .timeLimit(.minutes(10)))
struct OptionalModuleTests {
  private struct Fill: ActionType { let papers: Int }

  private static let secret = Handlers<Desktop.Drawer> {
    Perform(Lower.self) { action, secret in
      try secret.updateModel { $0.papers -= action.by }
    }
    Perform(Fetch.self) { action, secret in
      await Task.yield()
      try secret.updateModel { $0.papers += action.amount }
    }
    Perform(Fill.self) { action, secret in
      try secret.withModel { _ in }
      try secret.updateModel { $0.papers += action.papers }
    }
  }

  private static let actions: [any ActionType] = [Lower(by: 1), Fetch(amount: 10), Fill(papers: 5)]

  @Test(arguments: Dispatcher.Mode.everyMode)
  func changeNothingWhereTheirPartIsAbsent(mode: Dispatcher.Mode) async {
    let dispatcher = Dispatcher()
    let desktop = dispatcher.addDesktop { Part(\.secret) { Self.secret } }
    for action in Self.actions {
      let result = await dispatcher.dispatch(action: action, mode: mode).result
      #expect(result.isSuccess && result.hasResponders)
    }
    #expect(desktop.model == Desktop() && desktop.version == 0)
    desktop.updateModel { $0.secret = .init() }
    for action in Self.actions { await dispatcher.dispatch(action: action, mode: mode).ended() }
    #expect(desktop.model.secret?.papers == 14 && desktop.version == 4)
  }

  @Test(arguments: [false, true])
  func failWhereTheirPartGoesMeanwhile(isObserved: Bool) async {
    let dispatcher = Dispatcher()
    let (began, goOn) = (Latch(), Latch())
    let desktop = dispatcher.addDesktop {
      Part(\.secret) {
        Perform(Fetch.self) { action, secret in
          began.open()
          await goOn.opened()
          #expect(throws: DispatchError.self) { try secret.model }
          #expect(throws: DispatchError.self) { try secret.withModel { _ in } }
          try secret.updateModel { $0.papers += action.amount }
        }
      }
    }
    desktop.updateModel { $0.secret = .init(papers: 1) }
    let fetch = dispatcher.dispatch(action: Fetch(amount: 1))
    await began.opened()
    desktop.updateModel { $0.secret = nil }
    let token =
      isObserved ? desktop.observe(.model) { _ in Issue.record("There is no commit.") } : nil
    goOn.open()
    let result = await fetch.result
    #expect(result["desktop"].errorCode == .partMissing)
    #expect(desktop.version == 2)
    token?.cancel()
  }
}
