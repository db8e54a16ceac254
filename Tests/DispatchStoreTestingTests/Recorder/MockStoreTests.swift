import DispatchStore
import DispatchStoreTesting
import Testing

@Suite("A mock store", .timeLimit(.minutes(10)))
struct MockStoreTests {
  private let dispatcher = Dispatcher(name: "mocked")

  private func mock(
    _ answer: MockAnswer<Int, LedgerAction> = .finish
  ) -> MockStore<Int, LedgerAction> {
    MockStore(identifier: "mock", model: 1, dispatcher: dispatcher, answer: answer)
  }

  private func dispatch(_ text: String, _ mode: Dispatcher.Mode) async -> DispatchResult {
    await dispatcher.dispatch(action: LedgerAction.entry(text), mode: mode).result
  }

  @Test(arguments: Dispatcher.Mode.allBuiltIn)
  func answersAsSetAndKeepsTheActions(mode: Dispatcher.Mode) async {
    let mock = mock()
    mock.answer(where: { $0 == .entry("fail") }, with: .fail(Overdrawn(missing: 1)))
    mock.answer(where: { $0 == .entry("cancel") }, with: .fail(CancellationError()))
    mock.answer(where: { $0 == .entry("add") }, with: .update { $0 += 1 })
    mock.answer(
      where: { $0 == .entry("run") },
      with: .run { operation in
        operation.updateModel { $0 *= 10 }
        operation.finish()
      })
    #expect(await dispatch("plain", mode).isSuccess)
    #expect(await dispatch("fail", mode).error as? Overdrawn == Overdrawn(missing: 1))
    #expect(await dispatch("cancel", mode)["mock"].isCancelled == true)
    #expect(await dispatch("add", mode).isSuccess)
    #expect(await dispatch("run", mode).isSuccess)
    #expect(mock.model == 20)
    #expect(mock.actions == ["plain", "fail", "cancel", "add", "run"].map(LedgerAction.entry))
  }

  @Test func setReplacesTheModel() async {
    let mock = mock()
    #expect(mock.model == 1)
    mock.set(5)
    #expect(mock.model == 5)
    #expect(mock.store.version == 1)
  }

  @Test func usesTheAnswerThatWasSetLast() async {
    let mock = mock(.fail(CancellationError()))
    mock.answer(with: .update { $0 = 2 })
    mock.answer(with: .update { $0 = 3 })
    #expect(await dispatch("a", .serial).isSuccess)
    #expect(mock.model == 3)
  }

  @Test(arguments: [Dispatcher.Mode.async, .serial, .mainThread])
  func waitsForItsLatch(mode: Dispatcher.Mode) async {
    let latch = Latch()
    let mock = mock(.after(latch, .update { $0 = 2 }))
    let handle = dispatcher.dispatch(action: LedgerAction.entry("a"), mode: mode)
    await mock.actions(atLeast: 1)
    #expect(!handle.hasEnded)
    #expect(mock.model == 1)
    latch.open()
    #expect(await handle.result.isSuccess)
    #expect(mock.model == 2)
    #expect(await dispatch("b", mode).isSuccess)
  }

  @Test(arguments: [Dispatcher.Mode.async, .serial, .mainThread])
  func thatNeverEndsIsCancelledByItsRelease(mode: Dispatcher.Mode) async {
    var mock: MockStore<Int, LedgerAction>? = mock(.never)
    let handle = dispatcher.dispatch(action: LedgerAction.entry("a"), mode: mode)
    await mock?.actions(atLeast: 1)
    #expect(!handle.hasEnded)
    handle.cancel()
    mock = nil
    #expect(await handle.result["mock"].isCancelled == true)
  }

  /// Its operation has been made, and starts only afterwards.
  @Test
  func thatNeverEndsIsCancelledWhereTheReleaseComesBeforeItsStart() async {
    let owner = Owner(mock(.never))
    owner.mock?.answer(
      where: { [unowned owner] _ in
        owner.mock = nil
        return true
      }, with: .never)
    let handle = dispatcher.dispatch(action: LedgerAction.entry("a"))
    #expect(await handle.result["mock"].isCancelled == true)
    #expect(owner.mock == nil)
  }

  @Test func aLatchOpensOnceForClosuresAndTasks() async {
    let latch = Latch()
    let calls = MockStore<Int, LedgerAction>(model: 0)
    latch.whenOpen { calls.store.updateModel { $0 += 1 } }
    let task = Task { await latch.opened() }
    #expect(!latch.isOpen)
    latch.open()
    latch.open()
    await task.value
    latch.whenOpen { calls.store.updateModel { $0 += 10 } }
    #expect(latch.isOpen)
    #expect(calls.model == 11)
  }
}

private final class Owner: @unchecked Sendable {
  // because one thread sets `mock` while the test waits for that
  var mock: MockStore<Int, LedgerAction>?

  init(_ mock: MockStore<Int, LedgerAction>) {
    self.mock = mock
  }
}
