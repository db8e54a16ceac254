import DispatchStore
import DispatchStoreTesting
import Testing

@Suite("What a test store awaits, and what it says of what does not end, or was given up")
struct RestTests {
  struct Pay: ActionType, Equatable {}
  struct Ask: ActionType, Equatable {}
  struct Look: ActionType, Equatable {}
  struct Declined: Error {}

  /// A payment fails at first; asking runs a closure.
  private static func makeTestStore(
    on clock: VirtualClock = VirtualClock(),
    ask: @escaping @Sendable (Dispatcher) async -> Void = { _ in }
  ) -> TestStore<Int, HandledAction> {
    let tried = Latch()
    let store = Store(identifier: "seats", model: 0) {
      Perform(Pay.self) { _, _ in
        if tried.isOpen { return }
        tried.open()
        throw Declined()
      }
      Perform(Ask.self) { _, context in await ask(context.dispatcher) }
      On(Look.self) { _, _ in }
    }
    return TestStore(store, dispatcher: Dispatcher(name: "test", clock: clock))
  }

  private static let retry = DispatchOptions.retry(
    attempts: 2, backoff: .constant(.seconds(60)))

  enum Behind: CaseIterable, Sendable { case lane, end, send, handle, effect }

  /// It also awaits what waits for the payment.
  @Test(.timeLimit(.minutes(1)), arguments: Behind.allCases)
  func finishAwaitsADispatchThatPausesOnTheVirtualClock(behind: Behind) async {
    let clock = VirtualClock()
    let testStore = Self.makeTestStore(on: clock) { dispatcher in
      if behind == .send { await dispatcher.send(Pay(), mode: .async, options: Self.retry) }
      if behind == .handle {
        await dispatcher.dispatch(Pay(), mode: .async, options: Self.retry).ended()
      }
    }
    testStore.exhaustivity = .off(showSkipped: true)
    let dispatcher = testStore.dispatcher
    if behind == .effect {
      dispatcher.register(
        effect: Effect(Ask.self) { _, context in await context.send(Pay(), options: Self.retry) })
    }
    let caught = await failures {
      switch behind {
      case .lane:
        dispatcher.dispatch(Pay(), mode: .serial, options: Self.retry)
        dispatcher.dispatch(Look(), mode: .serial)
      case .end:
        let payment = dispatcher.dispatch(Pay(), mode: .serial, options: Self.retry)
        dispatcher.dispatch(Look(), mode: .async, options: .after(payment))
      case .send, .handle, .effect:
        dispatcher.dispatch(Ask(), mode: .serial)
      }
      let finish = Task { await testStore.finish() }
      await clock.waitForSleepers(atLeast: 1)
      // So that `finish()` finds the pause.
      for _ in 0..<100 { await Task.yield() }
      clock.advance(by: .seconds(60))
      await finish.value
    }
    #expect(caught.messages.isEmpty)
    #expect(!caught.notes.contains { $0.hasPrefix("Nothing goes on") })
    #expect(testStore.recorder.dispatches.map { $0.result?.isSuccess } == [true, true])
  }

  enum Wait: CaseIterable, Sendable {
    case pause, token, condition

    var text: String {
      switch self {
      case .pause: "store \"seats\" pauses before its attempt 2"
      case .token: "waits for a token of the rate limit \"mails\""
      case .condition: "waits for a condition on the store \"seats\""
      }
    }
  }

  @Test(
    .timeLimit(.minutes(1)), arguments: Wait.allCases,
    [Dispatcher.Mode.async, .serial, .mainThread])
  func finishSaysForWhatADispatchWaitsIfTheTestIsCancelled(
    wait: Wait, mode: Dispatcher.Mode
  ) async {
    let testStore = Self.makeTestStore()
    testStore.exhaustivity = .off
    let dispatcher = testStore.dispatcher
    let options: DispatchOptions
    switch wait {
    case .pause:
      options = Self.retry
    case .token:
      options = .rateLimited(
        by: RateLimit(1, per: .seconds(3_600), overflow: .wait, name: "mails"))
      dispatcher.dispatch(Look(), mode: mode, options: options)
      await testStore.receive(Look())
    case .condition:
      options = .when(testStore.store) { $0 > 0 }
    }
    let payment = dispatcher.dispatch(Pay(), mode: mode, options: options)
    while !"\(dispatcher.diagnosis())".contains(wait.text) { await Task.yield() }
    let caught = await failures {
      let finish = Task { await testStore.finish() }
      finish.cancel()
      await finish.value
    }
    #expect(caught.messages.count == 1)
    let message = caught.messages.first ?? ""
    #expect(message.contains(". Pay at \(#fileID):"))
    #expect(message.contains("\n   \(wait.text)"))
    payment.cancel()
    await testStore.finish()
  }

  @Test(.timeLimit(.minutes(1))) func finishNamesWorkThatWasGivenUp() async {
    let testStore = Self.makeTestStore()
    let dispatcher = testStore.dispatcher
    dispatcher.onWarning { _ in }
    dispatcher.register(effect: Effect(Look.self) { _, _ in throw Declined() })
    dispatcher.register(
      effect: Effect(Look.self) { _, _ in throw Declined() }.onFailure { _, _ in })
    dispatcher.register(
      effect: DurableEffect("charge", on: Look.self, attempts: 1) { _, _ in throw Declined() })
    await testStore.send(Look())
    let caught = await failures { await testStore.finish() }
    #expect(caught.messages.count == 1)
    let lines = caught.messages.first?.split(separator: "\n") ?? []
    #expect(lines.first == "This was given up:")
    #expect(lines.count == 4)
    #expect(lines.dropFirst().first?.hasPrefix("  The effect on Look (") == true)
    let letter = "The dead letter of the durable effect \"charge\" after 1 failed attempt of Look()"
    #expect(lines.dropFirst(2).first == "  \(letter): Declined()")
    for letter in dispatcher.deadLetters { dispatcher.remove(letter) }
    await testStore.finish()
    testStore.exhaustivity = .off(showSkipped: true)
    await testStore.send(Look())
    let skipped = await failures { await testStore.finish() }
    #expect(skipped.messages.isEmpty)
    #expect(skipped.notes.count == 1)
  }

  @Test(.timeLimit(.minutes(1))) func saysForWhatAWaitThatIsCancelledWaited() async {
    let (clock, recorder) = (VirtualClock(), RecorderMiddleware())
    let mock = MockStore<Int, LedgerAction>(identifier: "files", model: 0)
    let states = StateRecorder<Int, HandledAction>()
    let waits: [@Sendable () async -> Void] = [
      { await clock.waitForSleepers(atLeast: 2) },
      { _ = await mock.actions(atLeast: 2) },
      { _ = await recorder.endedCount(of: LedgerAction.self, atLeast: 2) },
      { _ = await states.entries(atLeast: 2) },
    ]
    let caught = await failures {
      for wait in waits {
        let task = Task { await wait() }
        task.cancel()
        await task.value
      }
    }
    #expect(
      caught.notes
        == [
          "2 sleepers, of which there are 0",
          "2 actions at store \"files\", which has received 0",
          "2 actions of type LedgerAction to end, of which 0 have",
          "2 entries, of which 0 are recorded",
        ].map { "The task was cancelled while it waited for \($0)." })
    #expect(caught.messages.isEmpty)
    #expect(caught.all.allSatisfy { "\($0.place.fileID)" == #fileID })
  }
}
