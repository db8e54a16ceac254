import DispatchStore
import DispatchStoreTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10)))
struct AtomicActionTests {
  @Test(arguments: Way.all, AtomicForm.allCases)
  func anAtomicActionChangesAllStoresInTheirOrder(way: Way, form: AtomicForm) async {
    let order = Recorder<String>()
    let ledger = AtomicLedger { store, _, _ in order.record(store) }
    let result = await ledger.shift(Shift(amount: 5), form, way)
    #expect(result.isSuccess && result.codes == [nil, nil, nil])
    #expect(ledger.models == [5, 5, 5] && ledger.versions == [1, 1, 1])
    #expect(order.all == ["a", "b", "c"])
  }

  @Test(arguments: Way.all, AtomicForm.allCases)
  func anAtomicActionThatFailsChangesNoStoreAndCountsNoVersion(way: Way, form: AtomicForm) async {
    let (ledger, seen) = (AtomicLedger(), Recorder<String>())
    let tokens = ledger.stores.map { store in
      store.observe(.model) { seen.record("\(store.identifier) \($0.value)") }
    }
    for store in ["a", "b", "c"] {
      let result = await ledger.shift(Shift(failsIn: store), form, way)
      #expect(result.error is ShiftFailure && !result.hasStarted)
      #expect(result.codes == ["a", "b", "c"].map { $0 == store ? "own" : "undone" })
      #expect(ledger.models == [0, 0, 0] && ledger.versions == [0, 0, 0])
    }
    #expect(seen.count == 0)
    #expect(await ledger.shift(Shift(), form, way).isSuccess)
    #expect(seen.all == ["a 1", "b 1", "c 1"])
    withExtendedLifetime(tokens) {}
  }

  /// A deinitialiser of a model is code of the program, which may change stores outside of sections only.
  @Test(arguments: Way.all, [false, true])
  func whatAnUndoneActionHasPutIntoAModelIsReleasedWithNoLockHeld(way: Way, inPlace: Bool) async {
    struct Parts: Sendable { var first: Mortal?, rest = TrackedDictionary<Int, Mortal>() }
    struct Put: AtomicAction {}
    let dispatcher = Dispatcher()
    let counter = CounterStore.counter("counter")
    @Sendable func makePart() -> Mortal { Mortal { counter.updateModel { $0.count += 1 } } }
    let store = dispatcher.register(
      store: Store(identifier: "parts", model: Parts()) {
        On(withoutReply: Put.self) { parts, _ in
          parts.first = makePart()
          parts.rest[1] = makePart()
          throw ShiftFailure()
        }
      })
    if inPlace { store.undoesInPlace(\.rest) }
    let result = await dispatcher.run(Put(), way)
    #expect(result.error is ShiftFailure)
    #expect(store.model.first == nil && store.model.rest.isEmpty && store.version == 0)
    #expect(counter.model.count == 2)
  }

  @Test func theErrorOfAStoreThatWasUndoneNamesTheOther() async throws {
    let result = await AtomicLedger().shift(Shift(failsIn: "b"))
    let error = try #require(result["a"].dispatchError)
    #expect(error.code == .undone && error.storeIdentifiers == ["a", "b"])
    #expect(error.cause is ShiftFailure)
    #expect(throws: ShiftFailure.self) { try result.get() }
  }

  @Test(arguments: Way.all)
  func observersFollowTheLastReductionAndDidDispatchFollowsThem(way: Way) async {
    let steps = Recorder<String>()
    let ledger = AtomicLedger { store, _, _ in steps.record("reduce \(store)") }
    ledger.dispatcher.register(middleware: RecordingMiddleware(to: steps))
    let tokens = ledger.stores.map { store in
      store.observe(.model) { change in
        steps.record("observe \(store.identifier) \(change.version) \(ledger.models)")
      }
    }
    _ = await ledger.shift(Shift(), .option, way) { _ in steps.record("completion") }
    let names = ["a", "b", "c"]
    #expect(
      steps.all == names.map { "m will \($0)" } + names.map { "reduce \($0)" }
        + names.map { "observe \($0) 1 [1, 1, 1]" } + names.map { "m did \($0)" } + ["completion"])
    withExtendedLifetime(tokens) {}
  }

  private struct Follow: ActionType {}

  @Test func whatFollowsFromTheEndOfAnUndoneActionIsNotOfThatAction() async {
    let handles = Recorder<DispatchHandle>()
    let dispatcher = Dispatcher()
    let lonely = Store(identifier: "lonely", model: 0) {}
    let other = dispatcher.register(
      store: Store(identifier: "other", model: 0) { On(Follow.self) { count, _ in count += 1 } })
    dispatcher.register(
      store: Store(identifier: "failing", model: 0) {
        On(Shift.self) { _, _ in
          // Ends as the section is left, and calls this completion there.
          lonely.dispatch(Follow()) { _ in
            other.updateModel { _ in handles.record(dispatcher.dispatch(Follow())) }
          }
          throw ShiftFailure()
        }
      })
    let result = await dispatcher.send(Shift(), options: .atomic)
    #expect(!result.isSuccess)
    #expect(await handles.first(1)[0].result.isSuccess)
  }

  @Test func changesNameTheActionAndTheDispatch() async {
    let (ledger, seen) = (AtomicLedger(), Recorder<DispatchID?>())
    let tokens = ledger.stores.map { store in
      store.observe(.model) { change in
        #expect(change.action?.base is Shift)
        seen.record(change.dispatchID)
      }
    }
    let result = await ledger.shift()
    #expect(seen.all == [result.dispatchID, result.dispatchID, result.dispatchID])
    withExtendedLifetime(tokens) {}
  }

  @Test(arguments: Way.all)
  func aReductionReadsTheStoresBeforeIt(way: Way) async {
    let (read, kept) = (Recorder<[Int]>(), Recorder<AtomicLedger>())
    for reads in [StoreReads.exclusive, .published] {
      let ledger = AtomicLedger(reads: reads) { store, _, _ in
        let stores = kept.all.last!.stores
        if store == "b" { read.record([stores[0].model]) }
        if store == "c" {
          read.record([
            stores[0].model, stores[1].withModel { $0 + stores[0].model },
            stores[1].child(\.self).model, Int(stores[1].version),
            Int(stores[1].child(\.self).version),
          ])
        }
      }
      kept.record(ledger)
      #expect(await ledger.shift(Shift(amount: 2), .option, way).isSuccess)
      #expect(
        await ledger.shift(Shift(amount: 2, failsIn: "c"), .option, way).error is ShiftFailure)
      #expect(ledger.models == [2, 2, 2])
      #expect(read.removeAll() == [[2], [2, 4, 2, 0, 0], [4], [4, 8, 4, 1, 1]])
    }
  }

  @Test(arguments: [false, true])
  func readingAStoreThatComesLaterStopsTheProgram(ofOther: Bool) async {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) { [ofOther] in
      let kept = Recorder<AtomicLedger>()
      let other = Store<Int, Ping>.probe("other")
      let ledger = AtomicLedger { store, _, _ in
        if store == "b" { _ = ofOther ? other.model : kept.all[0].stores[2].model }
      }
      kept.record(ledger)
      _ = await ledger.shift()
    }
    let store = ofOther ? "other" : "c"
    #expect(
      result.message.contains(
        "Store \"\(store)\" can't be read inside the exclusive section of store \"b\""))
    #expect(result.message.contains("name them in waitFor"))
  }

  @Test(arguments: ["a", "b"])
  func changingAStoreInsideStopsTheProgram(changed: String) async {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) { [changed] in
      let kept = Recorder<AtomicLedger>()
      let ledger = AtomicLedger { store, _, _ in
        if store == "b" { kept.all[0].stores[changed == "a" ? 0 : 1].updateModel { $0 = 7 } }
      }
      kept.record(ledger)
      _ = await ledger.shift()
    }
    #expect(
      result.message.contains(
        "Store \"\(changed)\" can't be changed inside the exclusive section of store \"b\""))
  }

  @Test(arguments: Way.all)
  func aStoreThatDoesMoreThanReduceFailsTheActionAndIsNamed(way: Way) async {
    for style in OperationStyle.allCases {
      let (dispatcher, ran) = (Dispatcher(), Recorder<String>())
      let before = dispatcher.register(
        store: Store(identifier: "before", model: 0) {
          On(withoutReply: Ping.self) { model, _ in model += 1 }
        })
      let other = dispatcher.addProbe("other", waitFor: ["before"], style: style, to: ran)
      let result = await dispatcher.run(Ping(), way, options: .atomic)
      #expect(result.codes == ["undone", "notAtomic"])
      #expect(result.dispatchError?.storeIdentifiers == ["other"])
      #expect(result.dispatchError?.message.contains("\"other\"") == true)
      #expect(before.model == 0 && other.model == 0 && ran.count == 0)
    }
  }

  @Test(arguments: Way.all)
  func aVetoOrAFailingHookOfOneStoreLeavesAllUnchanged(way: Way) async {
    for fails in [false, true] {
      let reduced = Recorder<String>()
      let ledger = AtomicLedger { store, _, _ in reduced.record(store) }
      ledger.dispatcher.register(
        middleware: RecordingMiddleware(will: { _, _, store in
          if store.identifier != "b" { return .pass }
          if fails { throw ShiftFailure() }
          return .veto(reason: "no")
        }))
      let result = await ledger.shift(Shift(), .option, way)
      #expect(result.codes == ["undone", fails ? "middlewareFailed" : "vetoed", "undone"])
      #expect(result.dispatchError?.code == (fails ? .middlewareFailed : .vetoed))
      #expect(reduced.count == 0 && ledger.models == [0, 0, 0])
    }
  }

  @Test(arguments: Way.all)
  func aReplacedActionReachesItsStore(way: Way) async {
    let ledger = AtomicLedger()
    let seen = Recorder<Int?>()
    ledger.dispatcher.register(
      middleware: RecordingMiddleware(will: { _, _, store in
        store.identifier == "b" ? .replace(with: Shift(amount: 7)) : .pass
      }))
    let token = ledger.stores[1].observe(.model) {
      seen.record(($0.action?.base as? Shift)?.amount)
    }
    #expect(await ledger.shift(Shift(), .option, way).isSuccess)
    #expect(ledger.models == [1, 7, 1] && seen.all == [7])
    withExtendedLifetime(token) {}
  }

  @Test(arguments: Way.all)
  func aStoreThatDeclaresNoChangeMakesNoCommit(way: Way) async {
    let ledger = AtomicLedger { store, model, shift in
      if store == "b" {
        Reduction.unchanged()
        model -= shift.amount
      }
    }
    #expect(await ledger.shift(Shift(), .option, way).isSuccess)
    #expect(ledger.models == [1, 0, 1] && ledger.versions == [1, 0, 1])
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func whatIsDispatchedInsideIsAcceptedOnceAllSectionsAreLeft(mode: Dispatcher.Mode) async {
    let (accepted, handles) = (Recorder<[Int]>(), Recorder<DispatchHandle>())
    let kept = Recorder<AtomicLedger>()
    let ledger = AtomicLedger { store, _, shift in
      guard let dispatcher = kept.all.first?.dispatcher, shift.amount == 1, store != "c" else {
        return
      }
      handles.record(dispatcher.dispatch(Ping(), mode: mode))
    }
    kept.record(ledger)
    let probe = ledger.dispatcher.register(store: Store<Int, Ping>.probe("probe"))
    ledger.dispatcher.register(
      middleware: RecordingMiddleware(will: { _, _, store in
        if store.identifier == "probe" { accepted.record(ledger.models) }
        return .pass
      }))
    #expect(await ledger.shift().isSuccess)
    for handle in await handles.first(2) { #expect(await handle.result.isSuccess) }
    #expect(accepted.all == [[1, 1, 1], [1, 1, 1]] && probe.model == 2)
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func whatIsDispatchedInsideEndsAsCancelledIfTheActionIsUndone(mode: Dispatcher.Mode) async {
    let (handles, groups) = (Recorder<DispatchHandle>(), Recorder<ActionGroupHandle>())
    let kept = Recorder<AtomicLedger>()
    let ledger = AtomicLedger { _, _, _ in
      let dispatcher = kept.all[0].dispatcher
      handles.record(dispatcher.dispatch(Ping(), mode: mode))
      handles.record(dispatcher.dispatch(actions: [Ping()], mode: mode))
      groups.record(dispatcher.dispatch(ActionGroup { Ping() }))
    }
    kept.record(ledger)
    let probe = ledger.dispatcher.register(store: Store<Int, Ping>.probe("probe"))
    #expect(await ledger.shift(Shift(failsIn: "b")).error is ShiftFailure)
    for handle in await handles.first(4) { #expect(await handle.result.error is CancellationError) }
    for group in groups.all { #expect(await !group.result.isSuccess) }
    #expect(probe.model == 0)
  }

  @Test func aGroupDispatchedInsideLeavesOthersAloneIfTheActionIsUndone() async {
    let (groups, kept) = (Recorder<ActionGroupHandle>(), Recorder<AtomicLedger>())
    let ledger = AtomicLedger { _, _, _ in
      groups.record(
        kept.all[0].dispatcher.dispatch(
          ActionGroup { Ping() }, options: .cancelsPrevious("sync")))
    }
    kept.record(ledger)
    ledger.dispatcher.addStage()
    let (log, free) = (Recorder<String>(), Latch())
    let first = ledger.dispatcher.dispatch(
      ActionGroup { Script.holds(in: log, until: free) }, options: .cancelsPrevious("sync"))
    _ = await log.first(1)
    #expect(await ledger.shift(Shift(failsIn: "b")).error is ShiftFailure)
    for group in await groups.first(2) { #expect(await group.result.error is CancellationError) }
    free.open()
    #expect(await first.result.isSuccess)
  }

  @Test(arguments: Way.all)
  func aLateActionEntersNoSection(way: Way) async {
    let reduced = Recorder<String>()
    let ledger = AtomicLedger { store, _, _ in reduced.record(store) }
    let late = await ledger.shift(Shift(), .option, way, options: .timeout(.zero))
    #expect(late.dispatchError?.code == .timedOut)
    #expect(reduced.count == 0 && ledger.models == [0, 0, 0])
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func atADeadlineInAReductionAllOfItsStoresMayHaveStarted(_ mode: Dispatcher.Mode) async {
    let (clock, began, free) = (VirtualClock(), Latch(), Latch())
    let ledger = AtomicLedger(dispatcher: Dispatcher(clock: clock)) { store, _, _ in
      guard store == "b" else { return }
      began.open()
      free.wait()
    }
    let handle = ledger.dispatcher.dispatch(
      Shift(), mode: mode, options: [.atomic, .timeout(.seconds(1))])
    await began.opened()
    await clock.pass(.seconds(1))
    let result = await handle.result
    free.open()
    #expect(result.dispatchError?.code == .timedOut && result.stores.count == 3)
    #expect(wereCancelledAfterTheirStart(result), "\(result)")
    await ledger.dispatcher.drain()
    #expect(ledger.models == [1, 1, 1])
  }

  @Test(arguments: Way.all)
  func aRetryRunsTheWholeActionAgain(way: Way) async {
    let attempts = Recorder<String>()
    let ledger = AtomicLedger { store, _, _ in
      attempts.record(store)
      if store == "c", attempts.all.filter({ $0 == "c" }).count < 3 { throw ShiftFailure() }
    }
    let result = await ledger.shift(Shift(), .option, way, options: .retry(attempts: 3))
    #expect(result.isSuccess && result.stores.map(\.attemptCount) == [3, 3, 3])
    #expect(attempts.all == ["a", "b", "c", "a", "b", "c", "a", "b", "c"])
    #expect(ledger.models == [1, 1, 1] && ledger.versions == [1, 1, 1])
    let failed = await ledger.shift(
      Shift(failsIn: "b"), .option, way, options: .retry(attempts: 2))
    #expect(failed.error is ShiftFailure && failed.codes == ["undone", "own", "undone"])
    #expect(failed.stores.map(\.attemptCount) == [2, 2, 2] && ledger.models == [1, 1, 1])
  }

  /// A verdict is about one attempt of one store.
  @Test(arguments: Way.all)
  func hooksOfAllStoresAreCalledForEachAttempt(way: Way) async {
    let steps = Recorder<String>()
    let ledger = AtomicLedger { store, _, shift in
      steps.record("\(store) \(shift.amount)")
      if store == "b" { throw ShiftFailure() }
    }
    ledger.dispatcher.register(
      middleware: RecordingMiddleware(
        to: steps,
        will: { _, _, store in
          guard store.identifier == "b" else { return .pass }
          switch steps.all.count(where: { $0 == "m will b" }) {
          case 1: return .pass
          case 2: return .replace(with: Shift(amount: 7))
          default: return .veto(reason: "enough")
          }
        }))
    let result = await ledger.shift(Shift(), .option, way, options: .retry(attempts: 9))
    #expect(result.codes == ["undone", "vetoed", "undone"] && ledger.models == [0, 0, 0])
    let (wills, dids) = (
      ["a", "b", "c"].map { "m will \($0)" }, ["a", "b", "c"].map { "m did \($0)" }
    )
    let attempts = [["a 1", "b 1"], ["a 1", "b 7"], []]
    let expected: [String] = attempts.flatMap { (reductions: [String]) in wills + reductions + dids
    }
    #expect(steps.all == expected)
  }

  private func wereCancelledAfterTheirStart(_ result: DispatchResult) -> Bool {
    result.stores.allSatisfy { $0.outcome.wasCancelled(afterItsStart: true) }
  }

  /// Stores that run regardless do so once one of a dispatch has begun, but not in another attempt.
  @Test(arguments: Way.all, [0, 1])
  func cancellingInTheHooksOfAnotherAttemptEndsAllStores(way: Way, regardlessFrom: Int) async {
    let steps = Recorder<String>()
    let ledger = AtomicLedger(regardlessFrom: regardlessFrom) { store, _, _ in
      steps.record(store)
      if store == "c", steps.all.count(where: { $0 == "c" }) == 1 { throw ShiftFailure() }
    }
    ledger.dispatcher.register(
      middleware: RecordingMiddleware(
        to: steps,
        will: { _, _, store in
          if store.identifier == "b", steps.all.count(where: { $0 == "m will b" }) == 2 {
            ledger.dispatcher.cancel(named: "atomic")
          }
          return .pass
        }))
    let ended = await ledger.shift(
      Shift(), .option, way, options: [.retry(attempts: 3), .named("atomic")])
    #expect(ended.error is CancellationError)
    #expect(wereCancelledAfterTheirStart(ended) && ledger.models == [0, 0, 0])
    let names = ["a", "b", "c"]
    let (wills, dids) = (names.map { "m will \($0)" }, names.map { "m did \($0)" })
    let expected: [String] = wills + names + dids + wills + dids
    #expect(steps.all == expected)
  }

  @Test(arguments: Way.all)
  func aVetoAndACancellationAreNotRetried(way: Way) async {
    let hooks = Recorder<String>()
    let always = DispatchOptions.retry(attempts: 5) { _ in true }
    let ledger = AtomicLedger { store, _, shift in
      if store == "b", shift.amount == 2 { throw CancellationError() }
    }
    let vetoing = RecordingMiddleware(
      to: hooks, will: { _, _, store in store.identifier == "b" ? .veto(reason: "no") : .pass })
    ledger.dispatcher.register(middleware: vetoing)
    let vetoed = await ledger.shift(Shift(), .option, way, options: always)
    #expect(vetoed.codes == ["undone", "vetoed", "undone"])
    #expect(vetoed.stores.map(\.attemptCount) == [1, 1, 1])
    #expect(hooks.all.count(where: { $0 == "m will a" }) == 1)
    ledger.dispatcher.unregister(middleware: vetoing)
    let cancelled = await ledger.shift(Shift(amount: 2), .option, way, options: always)
    #expect(cancelled["b"].isCancelled && cancelled.stores.map(\.attemptCount) == [1, 1, 1])
    #expect(ledger.models == [0, 0, 0])
  }

  @Test(arguments: Way.all.filter { $0.mode != .sync })
  func cancellingTheBackOffEndsTheWholeActionAsCancelled(way: Way) async {
    let (clock, hooks) = (VirtualClock(), Recorder<String>())
    let ledger = AtomicLedger(dispatcher: Dispatcher(clock: clock))
    ledger.dispatcher.register(middleware: RecordingMiddleware(to: hooks))
    let result = Task {
      await ledger.shift(
        Shift(failsIn: "c"), .option, way,
        options: [.retry(attempts: 2, backoff: .constant(.seconds(1_000))), .named("atomic")])
    }
    await clock.waitForSleepers(atLeast: 1)
    ledger.dispatcher.cancel(named: "atomic")
    let ended = await result.value
    #expect(ended.error is CancellationError)
    #expect(wereCancelledAfterTheirStart(ended) && ledger.models == [0, 0, 0])
    // Not once more for the end of the pause.
    #expect(
      hooks.all == ["will", "did"].flatMap { hook in ["a", "b", "c"].map { "m \(hook) \($0)" } })
  }

  @Test(arguments: [Dispatcher.Mode.async, .serial, .serial(lane: 1)], [false, true])
  func anActionThatIsCancelledBeforeItsTurnEntersNoSection(
    mode: Dispatcher.Mode, sends: Bool
  ) async {
    let reduced = Recorder<String>()
    let ledger = AtomicLedger { store, _, _ in reduced.record(store) }
    ledger.dispatcher.queue.isSuspended = true
    let result = Task {
      await ledger.shift(
        Shift(), .option, Way(mode: mode, sends: sends),
        options: .named("atomic"))
    }
    while ledger.dispatcher.cancel(named: "atomic") == 0 { await Task.yield() }
    #expect(await result.value.stores.allSatisfy(\.outcome.isCancelled))
    #expect(reduced.count == 0 && ledger.models == [0, 0, 0])
  }

  @Test(arguments: Dispatcher.Mode.everyMode, [false, true])
  func eachActionOfASequenceIsAtomicByItself(mode: Dispatcher.Mode, byType: Bool) async {
    let ledger = AtomicLedger()
    let shifts = [Shift(), Shift(failsIn: "c"), Shift()]
    let result = await ledger.dispatcher.dispatch(
      actions: byType ? shifts.map { AtomicShift(shift: $0) } : shifts, mode: mode,
      options: byType ? .continuingOnFailure : [.atomic, .continuingOnFailure]
    ).result
    #expect(result.steps.map(\.isSuccess) == [true, false, true])
    #expect(ledger.models == [2, 2, 2])
  }

  @Test(arguments: Way.all)
  func theRepliesOfStoresThatFinishedAreKept(way: Way) async {
    struct Ask: AtomicAction {
      typealias Reply = Int
      let fails: Bool
    }
    let dispatcher = Dispatcher()
    let store = dispatcher.register(
      store: Store(identifier: "a", model: 3) { On(Ask.self) { model, _ in model } })
    dispatcher.register(
      store: Store(identifier: "b", model: 0) {
        On(withoutReply: Ask.self) { if $1.fails { throw ShiftFailure() } }
      })
    let good = await dispatcher.run(Ask(fails: false), way)
    let bad = await dispatcher.run(Ask(fails: true), way)
    #expect((try? good.reply(to: Ask.self, from: store)) == 3)
    #expect((try? bad.reply(to: Ask.self, from: store)) == nil)
  }

  @Test(arguments: Way.all)
  func theReplyOfAnAttemptThatWasUndoneIsNotKept(way: Way) async {
    struct Book: AtomicAction { typealias Reply = Int }
    final class Numbers: Reducer<Int, Book> {
      let attempts = EventCount(of: .max)

      override func reduce(into next: inout Int, action: Book) {
        guard attempts.add() == 1 else { return unchanged() }
        next += 1
        reply(next)
      }
    }
    let (dispatcher, attempts) = (Dispatcher(), EventCount(of: .max))
    let numbers = dispatcher.register(
      store: Store(identifier: "numbers", model: 99, reducer: Numbers()))
    dispatcher.register(
      store: Store(identifier: "bookings", model: 0) {
        On(withoutReply: Book.self) { count, _ in
          count += 1
          if attempts.add() == 1 { throw ShiftFailure() }
        }
      }, waitFor: ["numbers"])
    let result = await dispatcher.run(Book(), way, options: .retry(attempts: 2))
    #expect(result.isSuccess && numbers.model == 99)
    #expect(result.replies(to: Book.self).isEmpty)
  }

  @Test(arguments: Way.all)
  func aWeakStoreThatIsGoneLeavesTheActionToTheOthers(way: Way) async {
    let ledger = AtomicLedger()
    do {
      let weak = Store(identifier: "weak", model: 0) {
        On(withoutReply: Shift.self) { model, shift in model += shift.amount }
      }
      ledger.dispatcher.register(store: weak, ownership: .weak)
      #expect(await ledger.shift(Shift(), .option, way).isSuccess)
      #expect(weak.model == 1)
    }
    #expect(await ledger.shift(Shift(), .option, way).isSuccess)
    #expect(ledger.models == [2, 2, 2])
  }

  @Test func anActionThatNoStoreAnswersSucceeds() async {
    for way in Way.all {
      let result = await Dispatcher().run(AtomicShift(shift: Shift()), way, options: .atomic)
      #expect(result.isSuccess && !result.hasResponders)
    }
  }

  @Test func thePublishedModelIsThatOfTheLastCommit() async {
    let (seen, kept) = (Recorder<Int>(), Recorder<AtomicLedger>())
    let ledger = AtomicLedger(reads: .published) { store, _, _ in
      if store == "c" { seen.record(contentsOf: kept.all[0].stores[0]) }
    }
    kept.record(ledger)
    #expect(await ledger.shift(Shift(failsIn: "c")).error is ShiftFailure)
    #expect(seen.all == [0] && ledger.models == [0, 0, 0])
    #expect(await ledger.shift().isSuccess)
    #expect(seen.all == [0, 0] && ledger.models == [1, 1, 1])
  }
}

extension Recorder where Element == Int {
  /// Records a store's model as another thread reads it.
  fileprivate func record(contentsOf store: Store<Int, HandledAction>) {
    let end = Latch()
    Thread.detachNewThread {
      self.record(store.model)
      end.open()
    }
    end.wait()
  }
}
