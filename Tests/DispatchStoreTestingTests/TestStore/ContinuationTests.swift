import DispatchStore
import DispatchStoreTesting
import Foundation
import Testing

@Suite("What a test store knows of what goes on by itself")
struct ContinuationTests {
  struct Missed: Error {}
  struct First: ActionType {}
  struct Second: ActionType {}
  struct Other: ActionType {}
  struct Placed: CodableAction {}

  /// A test store took the dispatcher for idle while the database was slow.
  @Test(.timeLimit(.minutes(1))) func showsARunThatWaitsUntilItsCauseIsSaved() async throws {
    let (database, dispatcher, begun) = (MemoryDatabase(), Dispatcher(name: "test"), Latch())
    try await database.open(for: dispatcher, actions: ActionCoder(Placed.self))
    dispatcher.register(
      store: Store(identifier: "count", model: 0) { On(Placed.self) { count, _ in count += 1 } })
    dispatcher.followContinuations()
    dispatcher.register(
      effect: DurableEffect("charge", on: Placed.self) { _, _ in
        begun.open()
        return nil
      })
    database.hold()
    await dispatcher.send(Placed())
    #expect(dispatcher.whenGoneOn(awaitsEffects: true) {})
    #expect(!begun.isOpen)
    database.release()
    await dispatcher.rest()
    #expect(begun.isOpen)
  }

  /// Between its looks at two effects, a run of the later one may begin one of the earlier one, and end.
  @Test func showsARunThatBeginsWhileOthersAreLookedAt() async throws {
    try await exploreWithLocks { dispatcher in
      let (second, ended) = (FollowedSecond(), Latch())
      dispatcher.register(
        store: Store(identifier: "count", model: 0) {
          On(First.self) { count, _ in count += 1 }
          On(Second.self) { count, _ in count += 1 }
        })
      dispatcher.followContinuations()
      dispatcher.register(middleware: second)
      dispatcher.register(
        effect: Effect(Second.self) { _, _ in
          for _ in 0..<10 { await Task.yield() }
          ended.open()
        })
      // They take time to look at.
      for _ in 0..<20 { dispatcher.register(effect: Effect(Other.self) { _, _ in }) }
      dispatcher.register(
        effect: Effect(First.self) { _, context in await context.send(Second()) })
      await dispatcher.send(First())
      while true {
        let changed = Latch()
        if dispatcher.whenGoneOn(awaitsEffects: true, { changed.open() }) {
          await changed.opened()
        } else if second.isUnderWay {
          await second.ended.opened()
        } else {
          break
        }
      }
      if !ended.isOpen { throw Missed() }
    }
  }

  /// Its second run can't begin before the first one has left its line.
  @Test func showsWorkThatIsRunAgainWhileItsFirstRunEnds() async throws {
    try await exploreWithLocks { dispatcher in
      dispatcher.onWarning { [weak dispatcher] warning in
        guard warning.kind == .deadLetter, let dispatcher else { return }
        for letter in dispatcher.deadLetters { dispatcher.runAgain(letter) }
      }
      try await awaitTheSecondRun(attempts: 1, at: dispatcher)
    }
  }

  /// Its timer is due as soon as it is set, when the run has left its line.
  @Test func showsAnAttemptThatFollowsAtOnce() async throws {
    try await exploreWithLocks { dispatcher in
      dispatcher.onWarning { _ in }
      try await awaitTheSecondRun(attempts: 2, at: dispatcher)
    }
  }

  /// Explores a scenario with switches of threads before each lock, too.
  private func exploreWithLocks(
    _ scenario: @escaping @Sendable (Dispatcher) async throws -> Void
  ) async throws {
    for seed in seeds(200) {
      var simulation = Simulation(seed: seed, order: .rare(preemptions: 3))
      simulation.switchesAtLocks = true
      let report = await simulation.run(scenario)
      try #require(report.failure == nil, "\(report)")
    }
  }

  /// Waits until nothing goes on after an effect whose first run fails; throws if its second run is not over then.
  private func awaitTheSecondRun(attempts: Int, at dispatcher: Dispatcher) async throws {
    let (failed, ended) = (Latch(), Latch())
    dispatcher.register(
      store: Store(identifier: "count", model: 0) { On(Placed.self) { count, _ in count += 1 } })
    dispatcher.followContinuations()
    dispatcher.register(middleware: FollowedSecond())
    dispatcher.register(
      effect: DurableEffect("charge", on: Placed.self, attempts: attempts, backoff: .none) { _, _ in
        if failed.isOpen {
          ended.open()
          return nil
        }
        failed.open()
        throw Missed()
      })
    await dispatcher.send(Placed())
    await dispatcher.rest()
    if !ended.isOpen { throw Missed() }
  }
}

extension Dispatcher {
  /// Returns once nothing goes on by itself.
  fileprivate func rest() async {
    while true {
      let changed = Latch()
      guard whenGoneOn(awaitsEffects: true, { changed.open() }) else { return }
      await changed.opened()
    }
  }
}

// What follows the end of a dispatch after all hooks, or without any.
extension ContinuationTests {
  struct Charge: ActionType, Equatable {}
  struct Receipt: ActionType, Equatable {}

  enum LateEnd: CaseIterable, Sendable {
    case ofARepeatThatJoins, ofARepeatThatIsRecorded, ofARefusedDispatch, ofAHandle
  }

  /// The completion dispatches once the test waits for that.
  @Test(
    .timeLimit(.minutes(1)), arguments: LateEnd.allCases,
    [Dispatcher.Mode.async, .serial, .mainThread])
  func receivesWhatFollowsAnEndAfterAllHooks(end: LateEnd, mode: Dispatcher.Mode) async {
    let (charging, goesOn) = (Latch(), DispatchSemaphore(value: 0))
    let testStore = TestStore(
      Store(identifier: "charges", model: 0) {
        Perform(Charge.self) { _, _ in await charging.opened() }
      })
    let dispatcher = testStore.dispatcher
    let key = DispatchOptions.idempotencyKey("charge")
    let follow: @Sendable (DispatchResult) -> Void = { _ in
      goesOn.wait()
      dispatcher.dispatch(Receipt(), mode: mode)
    }
    switch end {
    case .ofARepeatThatJoins:
      dispatcher.dispatch(Charge(), mode: mode, options: key)
      dispatcher.dispatch(Charge(), mode: mode, options: key, then: follow)
      charging.open()
      await testStore.receive(Charge())
    case .ofARepeatThatIsRecorded:
      charging.open()
      await dispatcher.dispatch(Charge(), mode: mode, options: key).ended()
      await testStore.receive(Charge())
      dispatcher.dispatch(Charge(), mode: mode, options: key, then: follow)
    case .ofARefusedDispatch:
      dispatcher.dispatch(Charge(), mode: mode, options: .timeout(.zero), then: follow)
    case .ofAHandle:
      dispatcher.dispatch(Charge(), mode: mode).whenEnded(follow)
      charging.open()
      await testStore.receive(Charge())
    }
    let release = Task {
      for _ in 0..<100 { await Task.yield() }
      goesOn.signal()
    }
    await testStore.receive(Receipt())
    await testStore.finish()
    await release.value
  }

  /// The store ends while the completion runs, which the deadline has begun.
  @Test(.timeLimit(.minutes(1)), arguments: [Dispatcher.Mode.async, .serial, .mainThread])
  func receivesWhatTheCompletionOfADispatchThatTimesOutDispatches(mode: Dispatcher.Mode) async {
    let (clock, begun, storeEnded) = (VirtualClock(), Latch(), Latch())
    let goesOn = DispatchSemaphore(value: 0)
    let testStore = TestStore(
      Store(identifier: "charges", model: 0) {
        Perform(Charge.self) { _, _ in
          begun.open()
          try await clock.sleep(for: .seconds(60))
        }
      }, dispatcher: Dispatcher(name: "test", clock: clock))
    let dispatcher = testStore.dispatcher
    // The completion blocks one thread, and the store ends on another one.
    dispatcher.queue.maxConcurrentOperationCount = 4
    // First, so that it is called after the recorder.
    dispatcher.register(first: EndNotice(storeEnded))
    dispatcher.dispatch(Charge(), mode: mode, options: .timeout(.seconds(5))) { _ in
      goesOn.wait()
      dispatcher.dispatch(Receipt(), mode: mode)
    }
    await begun.opened()
    clock.advance(by: .seconds(5))
    await storeEnded.opened()
    let release = Task {
      for _ in 0..<100 { await Task.yield() }
      goesOn.signal()
    }
    await testStore.receive(Charge(), ending: .failure(DispatchError.self))
    await testStore.receive(Receipt())
    await testStore.finish()
    await release.value
  }

  @Test(.timeLimit(.minutes(1)))
  func doesNotAwaitARepeatOfADispatchWhoseTimeHasNotCome() async {
    let clock = VirtualClock()
    let testStore = TestStore(
      Store(identifier: "charges", model: 0) { On(Charge.self) { count, _ in count += 1 } },
      dispatcher: Dispatcher(name: "test", clock: clock))
    let dispatcher = testStore.dispatcher
    let key = DispatchOptions.idempotencyKey("charge")
    dispatcher.dispatch(Charge(), mode: .serial, options: [key, .delayed(by: .seconds(1))])
    dispatcher.dispatch(Charge(), mode: .serial, options: key) { _ in
      dispatcher.dispatch(Receipt(), mode: .serial)
    }
    let caught = await failures { await testStore.finish() }
    #expect(caught.messages.count == 1)
    #expect(caught.messages.first?.contains("whose time has not come\n\nAdvance") == true)
    clock.advance(by: .seconds(1))
    await testStore.receive(Charge()) { $0 = 1 }
    await testStore.receive(Receipt())
    await testStore.finish()
  }

  /// The dispatch that it repeats has ended; the other one that it waits for has not begun.
  @Test(.timeLimit(.minutes(1)))
  func doesNotAwaitARepeatThatWaitsForADispatchWhoseTimeHasNotCome() async {
    let (clock, charging) = (VirtualClock(), Latch())
    let testStore = TestStore(
      Store(identifier: "charges", model: 0) {
        Perform(Charge.self) { _, _ in await charging.opened() }
      }, dispatcher: Dispatcher(name: "test", clock: clock))
    let dispatcher = testStore.dispatcher
    let key = DispatchOptions.idempotencyKey("charge")
    dispatcher.dispatch(Charge(), mode: .serial, options: key)
    let reminder = dispatcher.dispatch(
      Remind(), mode: .serial, options: .delayed(by: .seconds(1)))
    dispatcher.dispatch(Charge(), mode: .serial, options: [key, .after(reminder)]) { _ in
      dispatcher.dispatch(Receipt(), mode: .serial)
    }
    charging.open()
    await testStore.receive(Charge())
    let caught = await failures { await testStore.finish() }
    #expect(caught.messages.count == 1)
    #expect(caught.messages.first?.contains("whose time has not come\n\nAdvance") == true)
    clock.advance(by: .seconds(1))
    await testStore.receive(Remind())
    await testStore.receive(Receipt())
    await testStore.finish()
  }
}

// What is due as soon as it waits, before its timer has fired.
extension ContinuationTests {
  struct Remind: CodableAction, Equatable {}
  struct Sent: ActionType, Equatable {}

  enum Overdue: CaseIterable, Sendable { case resumedDispatch, resumedSchedule, newDispatch }

  @Test(.timeLimit(.minutes(1)), arguments: Overdue.allCases, 0..<50)
  func receivesWhatIsOverdueFromTheStart(overdue: Overdue, round: Int) async throws {
    let (database, clock) = (MemoryDatabase(), VirtualClock())
    let (actions, former) = (ActionCoder(Remind.self), Dispatcher(name: "office", clock: clock))
    let persistence = try await database.open(for: former, actions: actions)
    func makeStore() -> Store<Int, HandledAction> {
      Store(identifier: "reminded", model: 0) { On(Remind.self) { count, _ in count += 1 } }
    }
    former.register(store: makeStore())
    switch overdue {
    case .resumedDispatch:
      former.dispatch(Remind(), options: .delayed(by: .seconds(10), name: "remind"))
    case .resumedSchedule:
      former.every(.seconds(10), name: "remind", perform: Remind())
    case .newDispatch:
      break
    }
    try await persistence.flush()
    database.crash()
    let dispatcher = Dispatcher(
      name: "office", clock: VirtualClock(date: clock.date.addingTimeInterval(15)))
    try await database.open(for: dispatcher, actions: actions)
    let testStore = TestStore(makeStore(), dispatcher: dispatcher)
    if overdue == .newDispatch {
      dispatcher.dispatch(Remind(), options: .delayed(by: .zero, name: "remind"))
    } else {
      dispatcher.resumeWork()
    }
    await testStore.receive(Remind()) { $0 = 1 }
    dispatcher.cancelScheduled(named: "remind")
    await testStore.finish()
  }

  @Test(.timeLimit(.minutes(1)), arguments: [true, false], 0..<50)
  func receivesWhatAnAttemptReturnsThatFollowsAtOnce(isVirtual: Bool, round: Int) async {
    let dispatcher = Dispatcher(name: "test", clock: isVirtual ? VirtualClock() : nil)
    dispatcher.onWarning { _ in }
    let testStore = TestStore(
      Store(identifier: "sent", model: 0) {
        On(Placed.self) { _, _ in }
        On(Sent.self) { count, _ in count += 1 }
      }, dispatcher: dispatcher)
    let hasFailed = Latch()
    dispatcher.register(
      effect: DurableEffect("send", on: Placed.self, attempts: 2, backoff: .none) { _, _ in
        if hasFailed.isOpen { return Sent() }
        hasFailed.open()
        throw Missed()
      })
    await testStore.send(Placed())
    await testStore.receive(Sent()) { $0 = 1 }
    await testStore.finish()
  }
}

/// Notes the effects that follow a dispatch before it counts as ended, as the recorder of a test store does.
private final class FollowedSecond: Middleware {
  let begun = Latch()
  let ended = Latch()

  var isUnderWay: Bool { begun.isOpen && !ended.isOpen }

  func dispatchWillBegin(_ dispatch: DispatchInfo) {
    if dispatch.actions.first is ContinuationTests.Second { begun.open() }
  }

  func dispatchDidEnd(_ dispatch: DispatchInfo, result: DispatchResult) {
    dispatch.noteFollowers()
    if dispatch.actions.first is ContinuationTests.Second { ended.open() }
  }
}
