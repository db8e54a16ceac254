import DispatchStore
import DispatchStoreTesting
import Foundation
import Testing

@Suite("A recorder")
struct RecorderTests {
  private let dispatcher = Dispatcher(name: "recorded")
  private let recorder = RecorderMiddleware()

  init() {
    dispatcher.register(middleware: recorder)
  }

  @Test(arguments: Dispatcher.Mode.allBuiltIn)
  func recordsActionsWithOutcomeOrderAndCause(mode: Dispatcher.Mode) async {
    let reducer = AccountReducer(mode: mode)
    dispatcher.register(store: Store(identifier: "ann", reducer: reducer))
    dispatcher.addLedger()
    dispatcher.dispatch(action: AccountAction.depositAndLog(1), mode: mode)
    #expect(await recorder.endedCount(of: LedgerAction.self, atLeast: 2) == 2)
    await recorder.idle()
    let result = await dispatcher.dispatch(action: AccountAction.withdraw(5), mode: mode).result
    #expect(!result.isSuccess)
    #expect(recorder.actions(of: LedgerAction.self) == [.entry("deposit"), .entry("done")])
    #expect(recorder.dispatches.map(\.cause) == [nil, 1, 2, nil])
    #expect(
      recorder.description == """
        1 .depositAndLog(1), \(mode) → ann finished
          2 .entry("deposit"), \(mode) → ledger finished
            3 .entry("done"), \(mode) → ledger finished
        4 .withdraw(5), \(mode) → ann failed: Overdrawn(missing: 4)
        """)
  }

  @Test func recordsAnActionInItsWrappingAsItself() async throws {
    struct Deposit: ActionType, Equatable { let amount: Int }
    let store = dispatcher.register(
      store: Store(identifier: "balance", model: 0) {
        On(Deposit.self) { balance, deposit in balance += deposit.amount }
      })
    await store.dispatch(HandledAction(Deposit(amount: 1))).ended()
    #expect(recorder.actions(of: Deposit.self) == [Deposit(amount: 1)])
    #expect(recorder.dispatches[0].storeRuns.map { $0.action is Deposit } == [true])
    // Never if it did not count as one.
    try #require(recorder.dispatches[0].action is Deposit)
    #expect(await recorder.endedCount(of: Deposit.self, atLeast: 1) == 1)
  }

  /// As a logger does; by reflection only those that have none.
  @Test func namesActionsByTheirDescription() async {
    struct Order: ActionType, CustomStringConvertible {
      let secret = "1234"
      var description: String { "an order\nof two lines" }
    }
    _ = MockStore<Int, Order>(identifier: "mock", model: 0, dispatcher: dispatcher)
    await dispatcher.dispatch(action: Order(), mode: .async).ended()
    #expect(recorder.description == #"1 an order\nof two lines, async → mock finished"#)
  }

  @Test(arguments: Dispatcher.Mode.allBuiltIn)
  func isIdleOnceCompletionsAndWhatTheyDispatchedHaveEnded(mode: Dispatcher.Mode) async {
    let (dispatcher, recorder) = (dispatcher, recorder)
    dispatcher.addLedger()
    @Sendable func dispatch(_ left: Int) {
      dispatcher.dispatch(action: LedgerAction.entry("\(left)"), mode: mode) {
        if left > 1 { dispatch(left - 1) }
      }
    }
    dispatch(50)
    await recorder.idle()
    #expect(recorder.isIdle)
    #expect(recorder.count(of: LedgerAction.self) == 50)
    #expect(recorder.dispatches.allSatisfy { $0.hasEnded })
  }

  @Test(arguments: [Dispatcher.Mode.async, .serial, .mainThread])
  func isNotIdleWhileAnOperationIsUnderWay(mode: Dispatcher.Mode) async {
    let latch = Latch()
    let mock = MockStore<Int, LedgerAction>(
      identifier: "mock", model: 0, dispatcher: dispatcher, answer: .after(latch))
    let handle = dispatcher.dispatch(action: LedgerAction.entry("a"), mode: mode)
    await mock.actions(atLeast: 1)
    #expect(!recorder.isIdle)
    #expect(recorder.description == "1 .entry(\"a\"), \(mode) → mock under way")
    latch.open()
    await recorder.idle()
    _ = await handle.result
    #expect(recorder.description == "1 .entry(\"a\"), \(mode) → mock finished")
  }

  @Test func showsSequencesRefusalsAndActionsWithoutResponder() async {
    dispatcher.addLedger()
    let orphan = MockStore<Int, AccountAction>(identifier: "orphan", model: 0)
    dispatcher.register(store: orphan.store, waitFor: ["missing"])
    struct Unheard: ActionType {
      var reason = "none"
    }
    let entries = ["a", "b"].map { LedgerAction.entry($0) as AnyAction }
    _ = await dispatcher.dispatch(actions: entries).result
    _ = await dispatcher.dispatch(action: Unheard(), mode: .serial).result
    let refused = await dispatcher.dispatch(action: AccountAction.deposit(1), mode: .serial).result
    #expect(
      recorder.description == """
        1 several actions, serial → finished
          2 .entry("a"), serial → ledger finished
          3 .entry("b"), serial → ledger finished
        4 Unheard(reason: "none"), serial → no store responded
        5 .deposit(1), serial → failed: \(refused.error.map { "\($0)" } ?? "")
        """)
  }

  @Test(arguments: [Dispatcher.Mode.async, .serial, .mainThread])
  func countsEachActionOfASequenceOnceAtItsEnd(mode: Dispatcher.Mode) async {
    let latch = Latch()
    let mock = MockStore<Int, LedgerAction>(identifier: "mock", model: 0, dispatcher: dispatcher)
    mock.answer(where: { $0 == .entry("b") }, with: .after(latch))
    let entries = ["a", "b"].map { LedgerAction.entry($0) as AnyAction }
    let handle = dispatcher.dispatch(actions: entries, mode: mode)
    await mock.actions(atLeast: 2)
    #expect(await recorder.endedCount(of: LedgerAction.self, atLeast: 1) == 1)
    #expect(recorder.dispatches.map { $0.result?.isSuccess } == [nil, true, nil])
    latch.open()
    #expect(await recorder.endedCount(of: LedgerAction.self, atLeast: 2) == 2)
    await handle.ended()
    #expect(recorder.dispatches.map { $0.result?.isSuccess } == [true, true, true])
  }

  @Test(.timeLimit(.minutes(1)), arguments: [Dispatcher.Mode.async, .serial, .mainThread])
  func countsAnActionThatTimesOutOnceItsCompletionHasReturned(mode: Dispatcher.Mode) async {
    struct Slow: ActionType {}
    let (clock, begun, storeEnded) = (VirtualClock(), Latch(), Latch())
    let (dispatcher, goesOn) = (
      Dispatcher(name: "late", clock: clock), DispatchSemaphore(value: 0)
    )
    // The completion blocks one thread, and the store ends on another one.
    dispatcher.queue.maxConcurrentOperationCount = 4
    // First, so that it is called after the recorder.
    dispatcher.register(middleware: EndNotice(storeEnded))
    dispatcher.register(middleware: recorder)
    dispatcher.register(
      store: Store(identifier: "slow", model: 0) {
        Perform(Slow.self) { _, _ in
          begun.open()
          try await clock.sleep(for: .seconds(60))
        }
      })
    dispatcher.dispatch(Slow(), mode: mode, options: .timeout(.seconds(5))) { _ in goesOn.wait() }
    await begun.opened()
    clock.advance(by: .seconds(5))
    await storeEnded.opened()
    #expect(!recorder.isIdle)
    #expect(recorder.dispatches.map(\.hasEnded) == [false])
    goesOn.signal()
    #expect(await recorder.endedCount(of: Slow.self, atLeast: 1) == 1)
    await recorder.idle()
    #expect(recorder.dispatches.map(\.hasEnded) == [true])
  }

  @Test func recordsVetoesAndCancellations() async {
    dispatcher.addLedger()
    dispatcher.register(middleware: Bouncer())
    dispatcher.queue.isSuspended = true
    let handle = dispatcher.dispatch(action: LedgerAction.entry("late"), mode: .serial)
    handle.cancel()
    dispatcher.queue.isSuspended = false
    _ = await handle.result
    _ = await dispatcher.dispatch(action: LedgerAction.entry("bad"), mode: .serial).result
    #expect(
      recorder.description == """
        1 .entry("late"), serial → ledger cancelled
        2 .entry("bad"), serial → ledger vetoed by Bouncer: not tonight
        """)
  }

  @Test func recordsNothingMoreOnceItIsUnregistered() async {
    dispatcher.addLedger()
    dispatcher.dispatch(action: LedgerAction.entry("a"), mode: .sync)
    dispatcher.unregister(middleware: recorder)
    dispatcher.dispatch(action: LedgerAction.entry("b"), mode: .sync)
    #expect(recorder.count(of: LedgerAction.self) == 1)
    #expect(recorder.isIdle)
  }

  @Test func endsItsWaitWhereTheTaskIsCancelled() async {
    let recorder = recorder
    let task = Task { await recorder.endedCount(of: LedgerAction.self, atLeast: 1) }
    task.cancel()
    #expect(await task.value == 0)
  }
}

private final class Bouncer: Middleware {
  func willDispatch(
    transaction: DispatchInfo, action: AnyAction, in store: AnyStore
  ) -> MiddlewareVerdict {
    action as? LedgerAction == .entry("bad") ? .veto(reason: "not tonight") : .pass
  }
}
