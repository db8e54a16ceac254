import DispatchStore
import DispatchStoreTesting
import Foundation
import Synchronization
import Testing

@Suite("A test store")
struct TestStoreTests {
  @Test(arguments: Dispatcher.Mode.allBuiltIn)
  func assertsChangesAndWhatFollowed(mode: Dispatcher.Mode) async {
    let testStore = AccountTest(reducer: AccountReducer(mode: mode), mode: mode)
    testStore.dispatcher.addLedger()
    await testStore.send(.deposit(10)) { $0.balance = 10 }
    await testStore.send(.withdraw(4)) { $0.balance = 6 }
    await testStore.send(.depositAndLog(1)) { $0.balance = 7 }
    await testStore.receive(LedgerAction.entry("deposit"))
    await testStore.receive(LedgerAction.entry("done"))
    await testStore.finish()
  }

  private struct Count: ActionType, Equatable { let number: Int }
  private struct CountUp: ActionType { let last: Int }

  /// Makes a store whose block dispatches as many actions as it is told.
  private static func makeCounter() -> Store<Int, HandledAction> {
    Store(identifier: "last", model: 0) {
      On(Count.self) { model, count in model = count.number }
      Perform(CountUp.self) { action, context in
        for number in 1...action.last {
          context.dispatcher.dispatch(Count(number: number), mode: .serial)
        }
      }
    }
  }

  @Test(.timeLimit(.minutes(1)))
  func receivesEachOfManyActionsWithoutASearchAmongAll() async {
    let last = Int(seeds(10_000).upperBound)
    let testStore = TestStore(Self.makeCounter())
    await testStore.send(CountUp(last: last))
    for number in 1...last { await testStore.receive(Count(number: number)) { $0 = number } }
    await testStore.finish()
  }

  @Test(.timeLimit(.minutes(1)))
  func namesManyActionsThatItDidNotReceiveWithoutASearchAmongAll() async {
    let last = Int(seeds(10_000).upperBound)
    let caught = await failures {
      let testStore = TestStore(Self.makeCounter())
      await testStore.send(CountUp(last: last))
      await testStore.finish()
    }
    #expect(caught.messages.count == 1)
    #expect(caught.messages.first?.hasPrefix("\(last) actions followed") == true)
  }

  @Test(.timeLimit(.minutes(1)))
  func awaitsAChangeWithoutASearchAmongAllCommits() async {
    struct Wait: ActionType {}
    struct CountUp: ActionType {}
    let (goesOn, last) = (Latch(), Int(seeds(10_000).upperBound))
    let testStore = TestStore(
      Store(identifier: "last", model: 0) {
        Perform(Wait.self) { _, context in
          await goesOn.opened()
          try context.updateModel { $0 = -1 }
        }
        Perform(CountUp.self) { _, context in
          for number in 1...last { try context.updateModel { $0 = number } }
          goesOn.open()
        }
      }, mode: .async)
    testStore.exhaustivity = .off
    let step = testStore.start(Wait())
    testStore.dispatcher.dispatch(CountUp(), mode: .async)
    await step.changes { $0 = -1 }
    await step.ends()
    await testStore.finish()
  }

  private final class Token: Sendable {
    static let count = Atomic(0)

    init() { Self.count.add(1, ordering: .relaxed) }
    deinit { Self.count.subtract(1, ordering: .relaxed) }
  }

  @Test func keepsNoModelOfACommitThatWasAsserted() async {
    struct Renew: ActionType {}
    let testStore = TestStore(
      Store(identifier: "token", model: Token()) {
        On(Renew.self) { token, _ in token = Token() }
      })
    testStore.exhaustivity = .off
    for _ in 0..<100 { await testStore.send(Renew()) }
    #expect(Token.count.load(ordering: .relaxed) < 10)
    await testStore.finish()
  }

  @Test(arguments: Dispatcher.Mode.allBuiltIn)
  func receivesByKindAndByPredicate(mode: Dispatcher.Mode) async {
    let testStore = AccountTest(reducer: AccountReducer(mode: mode), mode: mode)
    testStore.dispatcher.addLedger()
    await testStore.send(.depositAndLog(1)) { $0.balance = 1 }
    let first = await testStore.receive(LedgerAction.self)
    #expect(first == .entry("deposit"))
    await testStore.receive(LedgerAction.self, where: { $0 == .entry("done") })
    await testStore.finish()
  }

  @Test(arguments: Dispatcher.Mode.allBuiltIn)
  func receivesWhatObserversAndCompletionsDispatch(mode: Dispatcher.Mode) async {
    let testStore = AccountTest(reducer: AccountReducer(), mode: mode)
    testStore.dispatcher.addLedger()
    let dispatcher = testStore.dispatcher
    let token = testStore.store.observe(.model) { change in
      guard change.action == .deposit(1) else { return }
      dispatcher.dispatch(action: AccountAction.deposit(2), mode: .serial) {
        dispatcher.dispatch(action: LedgerAction.entry("both"), mode: mode)
      }
    }
    let step = testStore.start(.deposit(1))
    await step.changes { $0.balance = 1 }
    await step.ends()
    await testStore.receive(.deposit(2)) { $0.balance = 3 }
    await testStore.receive(LedgerAction.entry("both"))
    await testStore.finish()
    token.cancel()
  }

  /// As an observer gets it, and passes it on.
  @Test(arguments: Dispatcher.Mode.allBuiltIn)
  func receivesAnActionInItsWrappingAsItself(mode: Dispatcher.Mode) async {
    struct Deposit: ActionType, Equatable { let amount: Int }
    let testStore = TestStore(
      Store(identifier: "balance", model: 0) {
        On(Deposit.self) { balance, deposit in balance += deposit.amount }
      }, mode: mode)
    let store = testStore.store
    let token = store.observe(.model) { change in
      guard change.value == 1, let action = change.action else { return }
      store.dispatch(action, mode: .serial)
    }
    let step = testStore.start(Deposit(amount: 1))
    await step.changes { $0 = 1 }
    await step.ends()
    await testStore.receive(Deposit(amount: 1)) { $0 = 2 }
    await testStore.finish()
    token.cancel()
  }

  /// The middleware dispatches once the test waits for that.
  @Test(arguments: [Dispatcher.Mode.async, .serial, .mainThread])
  func receivesWhatAnEarlierMiddlewareDispatchesAtTheEnd(mode: Dispatcher.Mode) async {
    let dispatcher = Dispatcher(name: "test")
    let logging = Logging(dispatcher)
    dispatcher.register(middleware: logging)
    let testStore = AccountTest(reducer: AccountReducer(), dispatcher: dispatcher, mode: mode)
    let release = Task {
      for _ in 0..<100 { await Task.yield() }
      logging.goesOn.signal()
    }
    await testStore.send(.deposit(1)) { $0.balance = 1 }
    await testStore.receive(LedgerAction.entry("deposited"))
    await testStore.finish()
    await release.value
  }

  @Test(arguments: Dispatcher.Mode.allBuiltIn)
  func receivesActionsToWhichNoStoreResponds(mode: Dispatcher.Mode) async {
    let testStore = AccountTest(reducer: AccountReducer(mode: mode), mode: mode)
    await testStore.send(.depositAndLog(1)) { $0.balance = 1 }
    await testStore.receive(LedgerAction.entry("deposit"))
    await testStore.receive(LedgerAction.entry("done"))
    await testStore.finish()
  }

  @Test(arguments: Dispatcher.Mode.allBuiltIn)
  func assertsHowAnActionEnds(mode: Dispatcher.Mode) async {
    let testStore = AccountTest(reducer: AccountReducer(), mode: mode)
    await testStore.send(.withdraw(4), ending: .failure(Overdrawn(missing: 4)))
    await testStore.send(.withdraw(4), ending: .failure(Overdrawn.self))
    await testStore.send(.withdraw(4), ending: .any)
    await testStore.finish()
  }

  @Test(arguments: Dispatcher.Mode.allBuiltIn)
  func assertsTheEndOfAnActionThatIsRefused(mode: Dispatcher.Mode) async {
    let testStore = AccountTest(reducer: AccountReducer(), mode: mode)
    testStore.dispatcher.close()
    await testStore.send(.deposit(1), ending: .failure(DispatchError.self))
    let caught = await failures {
      let step = testStore.start(.deposit(1))
      await step.changes { $0.balance = 1 }
      await step.ends(.failure)
    }
    #expect(caught.messages == ["Expected another change in .deposit(1), but it has ended."])
    await testStore.finish()
  }

  @Test(arguments: [Dispatcher.Mode.async, .serial, .mainThread])
  func assertsTheEndOfAnActionThatTimesOutAlsoWhileItsStoreGoesOn(mode: Dispatcher.Mode) async {
    let (clock, latch) = (VirtualClock(), Latch())
    let dispatcher = Dispatcher(name: "test", defaults: .timeout(.seconds(5)), clock: clock)
    let mock = MockStore<Account, AccountAction>(
      model: Account(), dispatcher: dispatcher, answer: .after(latch))
    let testStore = TestStore(mock.store, mode: mode)
    let step = testStore.start(.deposit(1))
    await mock.actions(atLeast: 1)
    clock.advance(by: .seconds(5))
    await step.ends(.failure(DispatchError.self))
    let caught = await failures {
      let finish = Task { await testStore.finish() }
      finish.cancel()
      await finish.value
    }
    #expect(caught.messages.count == 1)
    #expect(caught.messages.first?.contains("Under way:\n\n  1 .deposit(1)") == true)
    latch.open()
    await testStore.finish()
  }

  @Test func receivesAnActionThatTimesOutOnceItsStoreHasEnded() async {
    let (clock, latch) = (VirtualClock(), Latch())
    let dispatcher = Dispatcher(name: "test", clock: clock)
    let mock = MockStore<Account, AccountAction>(
      model: Account(), dispatcher: dispatcher, answer: .after(latch))
    let testStore = TestStore(mock.store)
    let handle = dispatcher.dispatch(
      action: AccountAction.deposit(1), mode: .serial, options: .timeout(.seconds(5)))
    await mock.actions(atLeast: 1)
    clock.advance(by: .seconds(5))
    #expect(await handle.result.dispatchError?.code == .timedOut)
    Task { latch.open() }
    await testStore.receive(AccountAction.self, ending: .failure(DispatchError.self))
    #expect(latch.isOpen)
    await testStore.finish()
  }

  @Test(arguments: [Dispatcher.Mode.async, .serial, .mainThread])
  func assertsAnActionStepByStep(mode: Dispatcher.Mode) async {
    let latch = Latch()
    let testStore = AccountTest(
      reducer: AccountReducer(between: { await latch.opened() }), mode: mode)
    let step = testStore.start(.depositInTwoSteps(5))
    await step.changes { $0.balance = 5 }
    latch.open()
    await step.ends { $0.balance = 10 }
    await testStore.finish()
  }

  @Test(arguments: [Dispatcher.Mode.async, .serial, .mainThread])
  func assertsACommitThatChangesNothing(mode: Dispatcher.Mode) async {
    let testStore = AccountTest(reducer: AccountReducer(), mode: mode)
    let step = testStore.start(.depositInTwoSteps(0))
    await step.changes { $0.balance = 0 }
    await step.changes { $0.balance = 0 }
    await step.ends()
    let caught = await failures {
      let step = testStore.start(.depositInTwoSteps(0))
      await step.changes { $0.balance = 1 }
      await step.changes { $0.balance = 0 }
      await step.ends()
    }
    #expect(caught.messages.count == 1)
    #expect(caught.messages.first?.contains("is not the expected one") == true)
    await testStore.finish()
  }

  /// The owner changes outside of dispatches, between the end of the first attempt and that of the second one.
  @Test(arguments: [Dispatcher.Mode.async, .serial, .mainThread])
  func assertsTheLastAttemptOfAnActionThatIsRetried(mode: Dispatcher.Mode) async {
    struct Pay: ActionType {}
    let (again, latch) = (Latch(), Latch())
    let store = Store(identifier: "account", model: Account()) {
      Perform(Pay.self) { _, context in
        guard try context.model.balance > 0 else {
          try context.updateModel { $0.balance = 1 }
          throw Overdrawn(missing: 1)
        }
        again.open()
        await latch.opened()
      }
    }
    let testStore = TestStore(
      store, dispatcher: Dispatcher(name: "test", defaults: .retry(attempts: 2)), mode: mode)
    let step = testStore.start(Pay())
    await step.changes { $0.balance = 1 }
    await again.opened()
    testStore.store.updateModel { $0.owner = "Bob" }
    latch.open()
    await step.ends { $0.owner = "Bob" }
    await testStore.finish()
  }

  @Test(arguments: Dispatcher.Mode.allBuiltIn)
  func assertsCommitsThatNotifyNoObserver(mode: Dispatcher.Mode) async {
    let testStore = AccountTest(reducer: AccountReducer(), mode: mode)
    await testStore.send(.depositQuietly(5)) { $0.balance = 5 }
    await testStore.send(.deposit(5)) { $0.balance = 10 }
    await testStore.finish()
  }

  @Test(arguments: Dispatcher.Mode.allBuiltIn)
  func assertsChangesOfAModelThatHasNaN(mode: Dispatcher.Mode) async {
    struct Reading: Equatable { var values = [1, Double.nan], count = 0 }
    struct Count: ActionType {}
    struct Wait: ActionType {}
    let store = Store(identifier: "reading", model: Reading()) {
      On(Count.self) { reading, _ in reading.count += 1 }
      On(Wait.self) { reading, _ in reading.count += 0 }
    }
    let testStore = TestStore(store, mode: mode)
    await testStore.send(Count()) { $0.count = 1 }
    await testStore.send(Wait())
    let caught = await failures {
      await testStore.send(Count()) { $0.count = 1 }
    }
    #expect(caught.messages.count == 1 && caught.messages.first?.contains("nan") == false)
    await testStore.finish()
  }

  @Test func assertsCommitsThatNotifyNoObserverWhileAnotherDispatchIsUnderWay() async {
    let latch = Latch()
    let testStore = AccountTest(reducer: AccountReducer(between: { await latch.opened() }))
    let step = testStore.start(.depositInTwoSteps(1))
    await step.changes { $0.balance = 1 }
    await testStore.send(.depositQuietly(5), mode: .async) { $0.balance += 5 }
    let caught = await failures {
      await testStore.send(.depositQuietly(5), mode: .async)
    }
    #expect(caught.messages.count == 1)
    latch.open()
    await step.ends { $0.balance = 12 }
    await testStore.finish()
  }

  /// Whether the next deposit is inside of the quiet one, or after it.
  @Test(arguments: [Dispatcher.Mode.sync, .serial, .async, .mainThread])
  func assertsACommitThatNotifiesNoObserverInTheDispatchThatMadeIt(mode: Dispatcher.Mode) async {
    let testStore = AccountTest(reducer: AccountReducer(mode: mode))
    await testStore.send(.depositQuietlyAndOnce(5)) { $0.balance = 5 }
    await testStore.receive(.deposit(1)) { $0.balance = 6 }
    await testStore.finish()
  }

  @Test(arguments: Dispatcher.Mode.allBuiltIn)
  func assertsTheChangesOfOtherStoresThatItWatches(mode: Dispatcher.Mode) async {
    let testStore = AccountTest(reducer: AccountReducer(mode: mode), mode: mode)
    let ledger = testStore.dispatcher.addLedger()
    testStore.watch(ledger)
    await testStore.send(.depositAndLog(1)) { $0.balance = 1 }
    await testStore.receive(LedgerAction.entry("deposit"))
    testStore.expect(in: ledger) { $0.lines = [Ledger.Line(text: "deposit")] }
    await testStore.receive(LedgerAction.entry("done"))
    testStore.expect(in: ledger) { $0.lines.append(Ledger.Line(text: "done")) }
    testStore.store.updateModel { $0.owner = "Bob" }
    testStore.expect(in: testStore.store) { $0.owner = "Bob" }
    await testStore.finish()
  }

  @Test(arguments: [Dispatcher.Mode.async, .serial, .mainThread])
  func assertsTheChangesOfOtherStoresStepByStep(mode: Dispatcher.Mode) async {
    struct Pay: ActionType {}
    let latch = Latch()
    let dispatcher = Dispatcher(name: "test")
    let ledger = dispatcher.register(
      store: Store(identifier: "ledger", model: 0) { On(Pay.self) { lines, _ in lines += 1 } })
    let account = Store(identifier: "account", model: Account()) {
      Perform(Pay.self) { _, context in
        try context.updateModel { $0.balance = 1 }
        await latch.opened()
      }
    }
    dispatcher.register(store: account, waitFor: ["ledger"])
    let testStore = TestStore(account, mode: mode)
    testStore.watch(ledger)
    let step = testStore.start(Pay())
    await step.changes { $0.balance = 1 }
    testStore.expect(in: ledger) { $0 = 1 }
    latch.open()
    await step.ends()
    await testStore.finish()
  }

  @Test(arguments: Dispatcher.Mode.allBuiltIn)
  func receivesEachActionOfASequence(mode: Dispatcher.Mode) async {
    let testStore = AccountTest(reducer: AccountReducer(), mode: mode)
    let dispatcher = testStore.dispatcher
    let token = testStore.store.observe(.model) { change in
      guard change.action == .deposit(1) else { return }
      let actions = [AccountAction.deposit(2), AccountAction.deposit(3)]
      dispatcher.dispatch(actions: actions, mode: .serial)
    }
    let step = testStore.start(.deposit(1))
    await step.changes { $0.balance = 1 }
    await step.ends()
    await testStore.receive(.deposit(2)) { $0.balance = 3 }
    await testStore.receive(.deposit(3)) { $0.balance = 6 }
    await testStore.finish()
    token.cancel()
  }

  /// The thread that continues the group waits between the steps, while no dispatch is under way.
  @Test(arguments: [Dispatcher.SendMode.async, .serial, .mainThread], [false, true])
  func awaitsTheNextStepOfAGroup(mode: Dispatcher.SendMode, isFinish: Bool) async {
    struct Order: ActionType {}
    let (latch, goesOn) = (Latch(), DispatchSemaphore(value: 0))
    let store = Store(identifier: "orders", model: 0) {
      Perform(Order.self) { _, context in
        let group = ActionGroup {
          ActionStep(LedgerAction.entry("a"), mode: mode)
          ActionStep(LedgerAction.entry("b"), mode: mode)
        }
        context.dispatcher.dispatch(
          group, onProgress: { ended, _ in if ended == 1 { goesOn.wait() } })
      }
    }
    let testStore = TestStore(store)
    let mock = MockStore<Int, LedgerAction>(
      identifier: "ledger", model: 0, dispatcher: testStore.dispatcher)
    mock.answer(where: { $0 == .entry("a") }, with: .after(latch))
    await testStore.send(Order())
    latch.open()
    await testStore.receive(LedgerAction.entry("a"))
    let release = Task {
      for _ in 0..<100 { await Task.yield() }
      goesOn.signal()
    }
    if isFinish {
      testStore.exhaustivity = .off
    } else {
      await testStore.receive(LedgerAction.entry("b"))
    }
    await testStore.finish()
    #expect(mock.actions == [.entry("a"), .entry("b")])
    await release.value
  }

  @Test func doesNotAwaitAStepOfAGroupWhoseTimeHasNotCome() async {
    struct Order: ActionType {}
    let clock = VirtualClock()
    let store = Store(identifier: "orders", model: 0) {
      Perform(Order.self) { _, context in
        let group = ActionGroup {
          ActionStep(LedgerAction.entry("a"), options: .delayed(by: .seconds(1)))
          ActionStep(LedgerAction.entry("b"))
        }
        context.dispatcher.dispatch(group)
      }
    }
    let testStore = TestStore(store, dispatcher: Dispatcher(name: "test", clock: clock))
    await testStore.send(Order())
    let caught = await failures { await testStore.receive(LedgerAction.entry("a")) }
    #expect(caught.messages.count == 1)
    let message = caught.messages.first ?? ""
    #expect(message.hasPrefix("Expected to receive .entry(\"a\"), but nothing more followed"))
    #expect(message.contains("\n  .entry(\"a\"), dispatched at "))
    #expect(message.hasSuffix(", whose time has not come"))
    clock.advance(by: .seconds(1))
    await testStore.receive(LedgerAction.entry("a"))
    await testStore.receive(LedgerAction.entry("b"))
    await testStore.finish()
  }

  /// Deposits 2 after each deposit of 1, once a closure has returned and other tasks have had their turns.
  private func register(
    with dispatcher: Dispatcher, after wait: @escaping @Sendable () async throws -> Void = {}
  ) {
    dispatcher.register(
      effect: Effect(AccountAction.self) { action, context in
        guard action == .deposit(1) else { return }
        try await wait()
        for _ in 0..<100 { await Task.yield() }
        await context.send(AccountAction.deposit(2))
      })
  }

  @Test(arguments: Dispatcher.Mode.allBuiltIn)
  func awaitsRunsOfEffects(mode: Dispatcher.Mode) async {
    let testStore = AccountTest(reducer: AccountReducer(), mode: mode)
    register(with: testStore.dispatcher)
    await testStore.send(.deposit(1)) { $0.balance = 1 }
    await testStore.receive(.deposit(2)) { $0.balance = 3 }
    testStore.dispatcher.dispatch(action: AccountAction.deposit(1), mode: mode)
    await testStore.receive(.deposit(1)) { $0.balance = 4 }
    await testStore.receive(.deposit(2)) { $0.balance = 6 }
    let caught = await failures {
      await testStore.send(.deposit(1)) { $0.balance = 7 }
      await testStore.finish()
    }
    #expect(caught.messages.count == 1)
    #expect(caught.messages.first?.hasPrefix("1 action followed, and the test did not") == true)
  }

  @Test func awaitsARunOfAnEffectOnceItsSleepIsOver() async {
    let clock = VirtualClock()
    let testStore = AccountTest(
      reducer: AccountReducer(), dispatcher: Dispatcher(name: "test", clock: clock))
    register(with: testStore.dispatcher) { try await clock.sleep(for: .seconds(5)) }
    await testStore.send(.deposit(1)) { $0.balance = 1 }
    await clock.waitForSleepers(atLeast: 1)
    clock.advance(by: .seconds(5))
    await testStore.receive(.deposit(2)) { $0.balance = 3 }
    await testStore.finish()
  }

  @Test func namesTheEffectThatDoesNotEnd() async {
    let testStore = AccountTest(reducer: AccountReducer())
    let (begun, latch) = (Latch(), Latch())
    register(with: testStore.dispatcher) {
      begun.open()
      await latch.opened()
    }
    await testStore.send(.deposit(1)) { $0.balance = 1 }
    await begun.opened()
    let caught = await failures {
      let finish = Task { await testStore.finish() }
      finish.cancel()
      await finish.value
    }
    #expect(caught.messages.count == 1)
    #expect(
      caught.messages.first?.contains("Under way:\n\n  The effect on AccountAction (") == true)
    latch.open()
    await testStore.receive(.deposit(2)) { $0.balance = 3 }
    await testStore.finish()
  }

  /// It would wait for ever: only the test lets time pass.
  @Test func doesNotAwaitEffectsThatAreLongLivedOrRest() async {
    struct Order: ActionType {}
    struct Refused: Error {}
    let (clock, latch) = (VirtualClock(), Latch())
    let testStore = TestStore(
      Store(identifier: "orders", model: 0) { On(Order.self) { count, _ in count += 1 } },
      dispatcher: Dispatcher(name: "test", clock: clock))
    let dispatcher = testStore.dispatcher
    dispatcher.onWarning { _ in }
    dispatcher.addLedger()
    dispatcher.register(effect: .longLived { _ in await latch.opened() })
    // The second run waits for its turn.
    let inTurn = dispatcher.register(
      effect: Effect(Order.self, policy: .serial) { _, _ in
        try await clock.sleep(for: .seconds(5))
      })
    dispatcher.register(
      effect: Effect(Order.self) { _, context in
        await context.send(LedgerAction.entry("later"), options: .delayed(by: .seconds(1)))
      })
    dispatcher.register(
      effect: DurableEffect("charge", on: Order.self, backoff: .constant(.seconds(1))) {
        _, context in
        if context.attempt == 1 { throw Refused() }
        return LedgerAction.entry("charged")
      })
    await testStore.send(Order()) { $0 = 1 }
    await testStore.send(Order()) { $0 = 2 }
    let caught = await failures { await testStore.finish() }
    #expect(caught.messages.count == 1)
    let lines = caught.messages.first?.split(separator: "\n").dropFirst().dropLast() ?? []
    let begins = lines.map { line in String(line.prefix { $0 != "(" }) }
    let charge = "  The durable effect \"charge\" after 1 failed attempt of Order"
    #expect(begins == ["  .entry", "  .entry", "  The effect on Order ", charge, charge])
    clock.advance(by: .seconds(1))
    var texts: [String] = []
    for _ in 0..<4 {
      if case .entry(let text)? = await testStore.receive(LedgerAction.self) { texts.append(text) }
    }
    #expect(texts.sorted() == ["charged", "charged", "later", "later"])
    inTurn.cancel()
    await testStore.finish()
    latch.open()
  }

  /// The ways in which an effect awaits a delayed entry, or one that waits for it.
  enum DelayedWait: CaseIterable {
    case send, detachedSend, dispatch, list, group, groupWithTimeLimit, dispatchedGroup
    case sentRepeat, dispatchedRepeat, repeatAfterARepeat

    func perform(by dispatcher: Dispatcher) async {
      let entry = LedgerAction.entry("later")
      let delay = DispatchOptions.delayed(by: .seconds(1))
      let group = ActionGroup { ActionStep(entry, options: delay) }
      let key = DispatchOptions.idempotencyKey("entry")
      switch self {
      case .send: await dispatcher.send(entry, options: delay)
      case .detachedSend: await dispatcher.send(entry, options: [delay, .detached])
      case .dispatch: await dispatcher.dispatch(entry, options: delay).ended()
      case .list: await dispatcher.dispatch(actions: [entry], options: delay).ended()
      case .group: await dispatcher.send(group)
      case .groupWithTimeLimit: await dispatcher.send(group, options: .timeout(.seconds(60)))
      case .dispatchedGroup: await dispatcher.dispatch(group).ended()
      case .sentRepeat:
        dispatcher.dispatch(entry, options: [key, delay])
        await dispatcher.send(entry, options: key)
      case .dispatchedRepeat:
        dispatcher.dispatch(entry, options: [key, delay])
        await dispatcher.dispatch(entry, options: key).ended()
      case .repeatAfterARepeat:
        dispatcher.dispatch(entry, options: [key, delay])
        let first = dispatcher.dispatch(entry, options: key)
        await dispatcher.send(entry, options: [key, .after(first)])
      }
    }
  }

  @Test(.timeLimit(.minutes(1)), arguments: DelayedWait.allCases)
  func doesNotAwaitARunThatAwaitsADelayedDispatch(wait: DelayedWait) async {
    let clock = VirtualClock()
    let testStore = AccountTest(
      reducer: AccountReducer(), dispatcher: Dispatcher(name: "test", clock: clock))
    testStore.dispatcher.addLedger()
    testStore.dispatcher.register(
      effect: Effect(AccountAction.self) { _, context in
        await wait.perform(by: context.dispatcher)
      })
    await testStore.send(.deposit(1)) { $0.balance = 1 }
    let caught = await failures { await testStore.finish() }
    #expect(caught.messages.count == 1)
    #expect(caught.messages.first?.contains("whose time has not come\n\nAdvance") == true)
    clock.advance(by: .seconds(1))
    await testStore.receive(LedgerAction.entry("later"))
    await testStore.finish()
  }

  @Test func withExhaustivityOffChecksNothingElse() async {
    let caught = await failures {
      let testStore = AccountTest(reducer: AccountReducer(mode: .serial))
      testStore.exhaustivity = .off
      await testStore.send(.depositAndLog(1))
      await testStore.receive(LedgerAction.entry("done"))
      await testStore.send(.deposit(4)) { $0.balance = 5 }
      await testStore.send(.depositAndLog(1))
      await testStore.finish()
    }
    #expect(caught.all.isEmpty)
  }

  @Test func callsTheSettleClosureBeforeItGivesUp() async {
    let testStore = AccountTest(reducer: AccountReducer())
    let dispatcher = testStore.dispatcher
    let (settling, dispatched) = (Latch(), Latch())
    let effect = Task {
      await settling.opened()
      dispatcher.dispatch(action: LedgerAction.entry("later"))
      dispatched.open()
    }
    testStore.settle = {
      settling.open()
      await dispatched.opened()
    }
    await testStore.receive(LedgerAction.entry("later"))
    await testStore.finish()
    await effect.value
  }

  /// The run would wait for ever: only the closure lets it go on.
  @Test(arguments: [false, true])
  func callsTheSettleClosureBeforeItAwaitsRunsOfEffects(receives: Bool) async {
    let testStore = AccountTest(reducer: AccountReducer())
    if !receives { testStore.exhaustivity = .off }
    let server = Latch()
    testStore.settle = { server.open() }
    register(with: testStore.dispatcher) { await server.opened() }
    await testStore.send(.deposit(1)) { $0.balance = 1 }
    if receives { await testStore.receive(.deposit(2)) { $0.balance = 3 } }
    await testStore.finish()
    #expect(testStore.model.balance == 3)
  }

  @Test(arguments: [Dispatcher.Mode.async, .serial, .mainThread], 0..<50)
  func receivesWhatIsDueOnceItsClockWasAdvanced(mode: Dispatcher.Mode, round: Int) async {
    let clock = VirtualClock()
    let testStore = AccountTest(
      reducer: AccountReducer(), dispatcher: Dispatcher(name: "test", clock: clock), mode: mode)
    let dispatcher = testStore.dispatcher
    dispatcher.dispatch(
      action: AccountAction.deposit(1), mode: mode, options: .delayed(by: .seconds(1)))
    dispatcher.every(.seconds(3), name: "interest", perform: AccountAction.deposit(5), mode: mode)
    clock.advance(by: .seconds(1))
    await testStore.receive(.deposit(1)) { $0.balance = 1 }
    clock.advance(by: .seconds(2))
    await testStore.receive(.deposit(5)) { $0.balance = 6 }
    dispatcher.cancelScheduled(named: "interest")
    await testStore.finish()
  }

  /// The completion dispatches once the test waits for that.
  @Test(arguments: [Dispatcher.Mode.async, .serial, .mainThread])
  func receivesWhatTheCompletionOfAScheduledRunDispatches(mode: Dispatcher.Mode) async {
    let (clock, goesOn) = (VirtualClock(), DispatchSemaphore(value: 0))
    let testStore = AccountTest(
      reducer: AccountReducer(), dispatcher: Dispatcher(name: "test", clock: clock))
    let dispatcher = testStore.dispatcher
    dispatcher.every(
      .seconds(3), name: "interest", perform: AccountAction.deposit(5), mode: mode
    ) { _ in
      goesOn.wait()
      dispatcher.dispatch(action: LedgerAction.entry("paid"))
    }
    clock.advance(by: .seconds(3))
    await testStore.receive(.deposit(5)) { $0.balance = 5 }
    let release = Task {
      for _ in 0..<100 { await Task.yield() }
      goesOn.signal()
    }
    await testStore.receive(LedgerAction.entry("paid"))
    dispatcher.cancelScheduled(named: "interest")
    await testStore.finish()
    await release.value
  }

  @Test func finishAwaitsWhatIsDue() async {
    let clock = VirtualClock()
    let testStore = AccountTest(
      reducer: AccountReducer(), dispatcher: Dispatcher(name: "test", clock: clock))
    testStore.exhaustivity = .off
    testStore.dispatcher.dispatch(
      action: AccountAction.deposit(1), options: .delayed(by: .seconds(1)))
    clock.advance(by: .seconds(1))
    await testStore.finish()
    #expect(testStore.model.balance == 1)
  }

  /// Closures may change the test's variables, because they run in the caller's isolation.
  @MainActor @Test(arguments: Dispatcher.Mode.allBuiltIn)
  func runsItsClosuresWhereTheTestRuns(mode: Dispatcher.Mode) async {
    var seen: [Int] = []
    let testStore = AccountTest(reducer: AccountReducer(mode: mode), mode: mode)
    await testStore.send(.deposit(10)) { account in
      MainActor.assertIsolated()
      seen.append(account.balance)
      account.balance = 10
    }
    await testStore.send(.depositAndLog(1)) { account in
      seen.append(account.balance)
      account.balance = 11
    }
    await testStore.receive(
      LedgerAction.self,
      where: {
        seen.append(-1)
        return $0 == .entry("deposit")
      })
    await testStore.receive(LedgerAction.entry("done"))
    await testStore.finish()
    #expect(seen == [0, 10, -1])
  }
}

/// Dispatches an entry at the end of each deposit.
private final class Logging: Middleware {
  let goesOn = DispatchSemaphore(value: 0)
  private weak let dispatcher: Dispatcher?

  init(_ dispatcher: Dispatcher) {
    self.dispatcher = dispatcher
  }

  func dispatchDidEnd(_ dispatch: DispatchInfo, result: DispatchResult) {
    guard dispatch.actions.first is AccountAction else { return }
    goesOn.wait()
    dispatcher?.dispatch(action: LedgerAction.entry("deposited"))
  }
}
