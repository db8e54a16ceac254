import DispatchStore
import DispatchStoreTesting
import Testing

@Suite("What a test store says of what rests, or was given up")
struct RestTests {
  struct Pay: ActionType, Equatable {}
  struct Ask: ActionType, Equatable {}
  struct Look: ActionType, Equatable {}
  struct Declined: Error {}

  /// A payment fails at first; asking runs a closure.
  private static func makeTestStore(
    on clock: VirtualClock? = VirtualClock(),
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

  enum Rest: CaseIterable, Sendable {
    case pause, token, condition

    var text: String {
      switch self {
      case .pause: "store \"seats\" pauses before its attempt 2"
      case .token: "waits for a token of the rate limit \"mails\""
      case .condition: "waits for a condition on the store \"seats\""
      }
    }
  }

  /// It waited for ever: only the test lets time pass.
  @Test(
    .timeLimit(.minutes(1)), arguments: Rest.allCases,
    [Dispatcher.Mode.async, .serial, .mainThread])
  func finishNamesADispatchThatRests(rest: Rest, mode: Dispatcher.Mode) async {
    let testStore = Self.makeTestStore()
    let dispatcher = testStore.dispatcher
    let options: DispatchOptions
    switch rest {
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
    let handle = dispatcher.dispatch(Pay(), mode: mode, options: options)
    let caught = await failures { await testStore.finish() }
    #expect(caught.messages.count == 2)
    #expect(caught.messages.first?.hasPrefix("1 action followed") == true)
    #expect(caught.messages.last?.hasPrefix("Nothing goes on, and this has not ended:") == true)
    #expect(caught.messages.last?.contains(", \(rest.text)\n") == true)
    handle.cancel()
    await testStore.finish()
  }

  enum Behind: CaseIterable, Sendable { case lane, end, send, handle, effect }

  /// What waits for the payment rests, too, until time passes.
  @Test(.timeLimit(.minutes(1)), arguments: Behind.allCases, 0..<20)
  func finishNamesADispatchThatRestsBeforeAnotherOne(behind: Behind, round: Int) async {
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
      await testStore.finish()
    }
    let note = caught.notes.first { $0.hasPrefix("Nothing goes on") }
    #expect(note?.contains(", \(Rest.pause.text)\n") == true)
    #expect(note?.contains(", waits for the dispatch at ") == (behind != .effect))
    clock.advance(by: .seconds(60))
    let later = await failures { await testStore.finish() }
    #expect(!later.notes.contains { $0.hasPrefix("Nothing goes on") })
    #expect(testStore.recorder.isIdle)
  }

  /// Time passes by itself there.
  @Test(.timeLimit(.minutes(1))) func finishAwaitsAPauseOfTheSystemsClock() async {
    let testStore = Self.makeTestStore(on: nil)
    testStore.exhaustivity = .off
    testStore.dispatcher.dispatch(
      Pay(), options: .retry(attempts: 2, backoff: .constant(.milliseconds(20))))
    await testStore.finish()
    #expect(testStore.recorder.dispatches.map { $0.result?.isSuccess } == [true])
  }

  @Test(.timeLimit(.minutes(1))) func namesADispatchThatRestsOnce() async {
    let caught = await failures {
      let testStore = Self.makeTestStore()
      testStore.dispatcher.dispatch(Pay(), options: Self.retry)
      await testStore.receive(Look.self)
      await testStore.finish()
    }
    // The action that was not expected, then the rest; nothing at the release.
    #expect(caught.messages.count == 2)
    #expect(caught.messages.last?.contains(Rest.pause.text) == true)
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

  @Test(.timeLimit(.minutes(1))) func saysForWhatADispatchWaitsIfTheTestIsCancelled() async {
    let clock = VirtualClock()
    let testStore = Self.makeTestStore(on: clock)
    let payment = testStore.dispatcher.dispatch(Pay(), mode: .async, options: Self.retry)
    await clock.waitForSleepers(atLeast: 1)
    let caught = await failures {
      let task = Task { await testStore.receive(Pay()) }
      task.cancel()
      await task.value
    }
    #expect(caught.messages.count == 1)
    #expect(caught.messages.first?.hasSuffix(", \(Rest.pause.text)") == true)
    payment.cancel()
    await testStore.finish()
  }
}
