import DispatchStoreTesting
import Foundation
import Testing

@testable import DispatchStore

/// A companion with a row, which notes when that is kept.
private final class RowProbe: DispatchCompanion, @unchecked Sendable {
  // because `dispatch` is locked, and all else constant
  let dispatch = Locked<Dispatch?>(nil)
  /// Whether the dispatch still ran, so that no deadline could end it on another thread.
  let ran = Recorder<Bool>()

  override func rows(of result: DispatchResult) -> [CompanionRow] {
    let row = CompanionRow(kind: .schedule, key: "probe", value: nil) { [dispatch, ran] in
      ran.record(dispatch.withLock { $0 }?.details?.withState(\.needsScheduler) == true)
      return true
    }
    return [row]
  }
}

@Suite("The end of dispatches to persistent stores", .timeLimit(.minutes(10)))
struct DurableEndTests {
  @Test func keepsRowsBeforeADeadlineMayEndTheDispatch() async throws {
    let (stage, probe, goesOn) = (try await PersistenceStage(), RowProbe(), Latch())
    let handle = stage.dispatcher.dispatch(
      SlowDeposit(account: "a", latch: goesOn),
      options: DispatchOptions().controlled { $0.companions = [probe] })
    probe.dispatch.withLock { $0 = handle.dispatch }
    goesOn.open()
    #expect(await handle.result.isSuccess)
    probe.dispatch.withLock { $0 = nil }
    #expect(probe.ran.all == [true])
  }

  @Test(arguments: Way.all)
  func comesOnceTheCommitsAreSaved(way: Way) async throws {
    let stage = try await PersistenceStage()
    let hooks = stage.log
    stage.dispatcher.register(middleware: RecordingMiddleware(to: hooks))
    stage.database.hold()
    let result = stage.run(Deposit(account: "a", amount: 5), way)
    await stage.reached(1)
    // Whatever was begun after its commit can't overtake its end.
    await stage.dispatcher.send(SetNote(note: "x"), options: .durability(.memory))
    #expect(hooks.all.filter { $0 == "m did wallet" }.count == 1)
    #expect(!hooks.all.contains("ended"))
    #expect(stage.saved.isEmpty)
    stage.database.release()
    #expect(await result.value.isSuccess)
    #expect(stage.saved == ["a": "5"])
    #expect(hooks.all.filter { $0 == "m did wallet" }.count == 2)
    #expect(hooks.all.contains("ended"))
  }

  @Test func isThatForObserversOfStoreGroups() async throws {
    let stage = try await PersistenceStage()
    let counter = stage.dispatcher.register(store: .counter("counter"))
    let (group, seen) = (StoreGroup(stage.wallet, counter), Recorder<DispatchID?>())
    let token = group.observe(on: .queue(DispatchQueue(label: "views"))) {
      seen.record($0.dispatchID)
    }
    stage.database.hold()
    let saved = stage.dispatcher.dispatch(Deposit(account: "a", amount: 5))
    await stage.reached(1)
    let other = counter.dispatch(.add(1))
    #expect(await seen.first(1) == [other.dispatchID])
    #expect(group.snapshot().dispatchesUnderWay == [saved.dispatchID])
    stage.database.release()
    #expect(await seen.first(2) == [other.dispatchID, saved.dispatchID])
    token.cancel()
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func ofAListIsThatForObserversOfStoreGroups(mode: Dispatcher.Mode) async throws {
    let stage = try await PersistenceStage()
    let dispatcher = stage.dispatcher
    let counter = dispatcher.register(store: .counter("counter"))
    let (group, seen) = (StoreGroup(stage.wallet, counter), Recorder<DispatchID?>())
    let token = group.observe(on: .queue(DispatchQueue(label: "views"))) {
      seen.record($0.dispatchID)
    }
    stage.database.hold()
    let deposits = [Deposit(account: "a", amount: 1), Deposit(account: "b", amount: 2)]
    Thread.detachNewThread { dispatcher.dispatch(actions: deposits, mode: mode) }
    // The first action has ended by then.
    await stage.reached(2)
    let other = counter.dispatch(.add(1))
    #expect(await seen.first(1) == [other.dispatchID])
    let unsaved = group.snapshot().dispatchesUnderWay ?? []
    #expect(unsaved.count == 2)
    stage.database.release()
    #expect(await seen.first(3).dropFirst().compactMap(\.self).sorted() == unsaved)
    token.cancel()
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func ofAWeakStoreThatIsGoneByThenIsHeardByHooksWithStates(mode: Dispatcher.Mode) async throws {
    let stage = try await PersistenceStage()
    let (dispatcher, recorder) = (stage.dispatcher, StateRecorder<Wallet, HandledAction>())
    dispatcher.register(recorder.hook)
    let handle: DispatchHandle
    do {
      let store = try await dispatcher.register(
        store: .wallet("weak"), ownership: .weak, persisted: .elements(\.all))
      try await stage.persistence.flush()
      stage.database.hold()
      handle = store.dispatch(Deposit(account: "a", amount: 1), mode: mode)
      let changes = store.stream(.model, initial: true)
      for await change in changes where change.value.all["a"] == 1 { break }
    }
    while dispatcher.store(with: "weak") != nil { await Task.yield() }
    stage.database.release()
    #expect(await handle.result.isSuccess)
    #expect(recorder.entries.map(\.storeIdentifier) == ["weak"])
    #expect(recorder.entries.map { $0.newModel.all["a"] } == [1])
  }

  @Test(arguments: Way.all)
  func ofAFailedStoreThatIsNotRetriedComesOnceItsCommitsAreSaved(way: Way) async throws {
    let stage = try await PersistenceStage()
    let hooks = Recorder<String>()
    stage.dispatcher.register(middleware: RecordingMiddleware(to: hooks))
    stage.database.hold()
    let result = stage.run(
      FailingDeposit(account: "a"), way, options: .retry(attempts: 2, where: { _ in false }))
    await stage.reached(1)
    // In a lane it comes after the end of the failed store.
    await stage.dispatcher.send(
      SetNote(note: "x"), mode: SendModes.like(way.mode), options: .durability(.memory))
    #expect(hooks.all.filter { $0 == "m did wallet" }.count == 1)
    stage.database.release()
    #expect(await result.value.error is Refused)
    #expect(stage.saved == ["a": "-1"])
    #expect(hooks.all.filter { $0 == "m did wallet" }.count == 2)
  }

  private struct Payload: ActionType { let object: Mortal }

  /// A stage whose database is away, with as many unsaved commits as its limit allows.
  private func stageThatHoldsBack() async throws -> PersistenceStage {
    let stage = try await PersistenceStage(limits: .suspending(commits: 1))
    try await stage.dispatcher.register(
      store: Store(identifier: "numbers", model: 0) {
        On(Payload.self) { number, _ in number += 1 }
      }, persisted: .model)
    try await stage.persistence.flush()
    stage.database.hold()
    await stage.dispatcher.send(Deposit(account: "a", amount: 1), options: .durability(.memory))
    return stage
  }

  @Test(arguments: Way.all, [false, true])
  func ofOneThatWasHeldBackLeavesNothingWhileTheDatabaseIsAway(
    way: Way, staysInMemory: Bool
  ) async throws {
    let stage = try await stageThatHoldsBack()
    let released = EventCount(of: 10)
    for _ in 0..<10 {
      let result = stage.run(
        Payload(object: Mortal(released)), way,
        options: staysInMemory
          ? [.durability(.memory), .timeout(.milliseconds(1))] : .timeout(.milliseconds(1)))
      #expect(await result.value.error != nil)
    }
    await released.full()
    try await stage.save()
    #expect(stage.saved == ["a": "1"])
  }

  @Test(arguments: [Dispatcher.Mode.async, .serial, .serial(lane: "named"), .mainThread])
  func ofAListThatWasHeldBackLeavesNothingWhileTheDatabaseIsAway(mode: Dispatcher.Mode) async throws
  {
    let stage = try await stageThatHoldsBack()
    let released = EventCount(of: 10)
    for _ in 0..<10 {
      let result = await stage.dispatcher.dispatch(
        actions: [Payload(object: Mortal(released))], mode: mode,
        options: .timeout(.milliseconds(1))
      ).result
      #expect(result.error != nil)
    }
    await released.full()
    try await stage.save()
    #expect(stage.saved == ["a": "1"])
  }

  /// Dispatches a list that pauses after its first deposit, since the queue is suspended then; the database is away.
  private func pausedList(
    at stage: PersistenceStage, _ mode: Dispatcher.Mode, _ options: DispatchOptions = []
  ) async -> DispatchHandle {
    let dispatcher = stage.dispatcher
    stage.database.hold()
    let token = stage.wallet.observe(.model) { _ in dispatcher.queue.isSuspended = true }
    let deposits = [Deposit(account: "a", amount: 1), Deposit(account: "b", amount: 1)]
    let handle = dispatcher.dispatch(actions: deposits, mode: mode, options: options)
    await stage.reached(1)
    let state = handle.dispatch!.makeDetails()
    while !state.withState(\.isBetweenActions) { await Task.yield() }
    token.cancel()
    return handle
  }

  @Test(arguments: Dispatcher.Mode.offMainModes, [true, false])
  func ofAListThatIsCancelledWhileItPausesComesOnceItIsSaved(
    mode: Dispatcher.Mode, resumesFirst: Bool
  ) async throws {
    let stage = try await PersistenceStage()
    let dispatcher = stage.dispatcher
    let handle = await pausedList(at: stage, mode)
    handle.cancel()
    let ends = Recorder<Bool>()
    handle.whenEnded { ends.record($0.error is CancellationError) }
    // Whatever was begun after the cancellation can't overtake its end.
    await dispatcher.send(SetNote(note: "x"), mode: .mainThread, options: .durability(.memory))
    #expect(ends.all.isEmpty && stage.saved.isEmpty)
    if resumesFirst { dispatcher.queue.isSuspended = false }
    stage.database.release()
    #expect(await ends.first(1) == [true])
    #expect(stage.saved == ["a": "1"])
    dispatcher.queue.isSuspended = false
    await dispatcher.send(Deposit(account: "c", amount: 1), mode: SendModes.like(mode))
    #expect(stage.saved == ["a": "1", "c": "1"])
  }

  @Test(
    .timeLimit(.minutes(1)),
    arguments: Dispatcher.Mode.offMainModes, [true, false])
  func ofAListWhoseDeadlinePassesWhileItPausesComesThen(
    mode: Dispatcher.Mode, isCancelled: Bool
  ) async throws {
    let clock = VirtualClock()
    let stage = try await PersistenceStage(clock: clock)
    let dispatcher = stage.dispatcher
    let handle = await pausedList(at: stage, mode, .timeout(.seconds(1)))
    // Then it is being saved at the deadline, or about to be.
    if isCancelled { handle.cancel() }
    clock.advance(by: .seconds(1))
    let result = await handle.result
    #expect(result.dispatchError?.code == .timedOut)
    #expect(result.skippedActionCount == 1)
    #expect(stage.saved.isEmpty)
    dispatcher.queue.isSuspended = false
    stage.database.release()
    await dispatcher.send(Deposit(account: "c", amount: 1), mode: SendModes.like(mode))
    #expect(stage.saved == ["a": "1", "c": "1"])
  }

  /// Its lane and its key are free then, although the database is away.
  @Test(.timeLimit(.minutes(1)), arguments: Dispatcher.Mode.everyMode, [false, true])
  func ofAListThatTimesOutComesWithItsStores(mode: Dispatcher.Mode, isHeldBack: Bool) async throws {
    let clock = VirtualClock()
    let stage = try await PersistenceStage(
      limits: isHeldBack ? .suspending(commits: 1) : .suspending(), clock: clock)
    let (dispatcher, slow) = (stage.dispatcher, SlowDeposit(account: "b", latch: Latch()))
    dispatcher.register(store: .counter("counter"))
    try await stage.persistence.flush()
    stage.database.hold()
    let actions: [any ActionType] = [Deposit(account: "a", amount: 1), slow]
    let list = Task {
      await onOwnThread {
        dispatcher.dispatch(
          actions: actions, mode: mode, options: [.timeout(.seconds(1)), .exclusive("key")])
      }.result
    }
    if isHeldBack {
      while !stage.persistence.holdsDispatchesBack { await Task.yield() }
    } else {
      await slow.began.opened()
    }
    await clock.pass(.seconds(1))
    slow.latch.open()
    #expect(await list.value.errorCode == .timedOut)
    for way in Way.all where way.mode == mode {
      let next = dispatcher.begin(
        action: CounterAction.add(1), mode, .exclusive("key"), sends: way.sends)
      #expect(await next.value.isSuccess)
    }
    #expect(stage.saved.isEmpty)
    try await stage.save()
    #expect(stage.saved == (isHeldBack ? ["a": "1"] : ["a": "1", "b": "1"]))
  }

  @Test(.timeLimit(.minutes(1)), arguments: Dispatcher.Mode.queuedModes)
  func ofAListThatTimesOutWhileItIsHeldBackSaysThatNothingHasStarted(
    mode: Dispatcher.Mode
  ) async throws {
    let clock = VirtualClock()
    let stage = try await PersistenceStage(limits: .suspending(commits: 1), clock: clock)
    try await stage.persistence.flush()
    stage.database.hold()
    await stage.dispatcher.send(Deposit(account: "a", amount: 1), options: .durability(.memory))
    let list = stage.dispatcher.dispatch(
      actions: [Deposit(account: "b", amount: 1)], mode: mode, options: .timeout(.seconds(1)))
    while !stage.persistence.holdsDispatchesBack { await Task.yield() }
    await clock.pass(.seconds(1))
    let result = await list.result
    #expect(result.errorCode == .timedOut && !result.hasStarted)
    try await stage.save()
    #expect(stage.saved == ["a": "1"])
  }

  /// One store is vetoed, and the other one needs it; nobody answers the first action of the second list.
  @Test(.timeLimit(.minutes(1)), arguments: Dispatcher.Mode.everyMode)
  func ofAListThatRanNoStoreWaitsForNothing(mode: Dispatcher.Mode) async throws {
    let stage = try await PersistenceStage()
    let (dispatcher, deposit) = (stage.dispatcher, Deposit(account: "a", amount: 1))
    try await dispatcher.register(
      store: .wallet("second"), waitFor: [stage.wallet], persisted: .elements(\.all))
    dispatcher.register(
      middleware: RecordingMiddleware(will: { _, action, store in
        action is Deposit && store.identifier == "wallet" ? .veto(reason: "no") : .pass
      }))
    try await stage.persistence.flush()
    stage.database.hold()
    stage.wallet.updateModel { $0.all["b"] = 1 }
    let single = await onOwnThread { dispatcher.dispatch(deposit, mode: mode) }
    #expect(await single.result.errorCode == .vetoed)
    for actions in [[deposit], [Ping(), deposit]] as [[any ActionType]] {
      let list = await onOwnThread { dispatcher.dispatch(actions: actions, mode: mode) }
      #expect(await list.result.errorCode == .vetoed)
    }
    try await stage.save()
    #expect(stage.saved == ["b": "1"])
  }

  @Test func ofListsWithKeysThatTimeOutWhileTheyAreBeingSavedComesOnce() async throws {
    let stage = try await PersistenceStage()
    let ends = Locked(0)
    let count = Load.count(100)
    await withDiscardingTaskGroup { group in
      for task in 0..<16 {
        group.addTask {
          for number in 0..<count {
            let deposits = [Deposit(account: "a", amount: 1), Deposit(account: "b", amount: 1)]
            _ = await stage.dispatcher.dispatch(
              actions: deposits, mode: .async,
              options: [
                .idempotencyKey("\(task) \(number)"), .timeout(.microseconds(number * 7 % 600)),
              ]
            ) { ends.withLock { $0 += 1 } }.result
          }
        }
      }
    }
    #expect(await stage.dispatcher.drain(timeout: nil).isComplete)
    #expect(ends.withLock(\.self) == 16 * count)
    try await stage.persistence.flush()
    let wallet = stage.wallet.model.all
    #expect(stage.saved["a"] == wallet["a"].map(String.init))
  }

  @Test(arguments: Way.all.filter { $0.mode.isInLane })
  func laneGoesOnAtTheStoresEndAndResultsKeepItsOrder(way: Way) async throws {
    let stage = try await PersistenceStage(holds: true)
    var results: [Task<DispatchResult, Never>] = []
    for number in 1...5 {
      results.append(stage.run(Deposit(account: "a", amount: number), way, "\(number)"))
      await stage.reached(UInt64(number))
    }
    #expect(stage.log.all.isEmpty)
    stage.database.release()
    for result in results { #expect(await result.value.isSuccess) }
    #expect(stage.log.all == ["1", "2", "3", "4", "5"])
    #expect(stage.saved == ["a": "15"])
  }

  @Test(arguments: Way.all)
  func ofOneThatOnlyReadsWaitsForWhatItMayHaveRead(way: Way) async throws {
    let stage = try await PersistenceStage(holds: true)
    let deposit = stage.run(
      Deposit(account: "a", amount: 5), Way(mode: .serial(lane: "other"), sends: false), "deposit")
    await stage.reached(1)
    let read = stage.run(Balance(account: "a"), way, "read")
    await stage.dispatcher.send(
      SetNote(note: ""), mode: SendModes.like(way.mode), options: .durability(.memory))
    #expect(stage.log.all.isEmpty)
    stage.database.release()
    #expect(await read.value.isSuccess)
    #expect(await deposit.value.isSuccess)
    // Once everything is saved, a read waits for nothing.
    try await stage.persistence.flush()
    stage.database.hold()
    defer { stage.database.release() }
    #expect(await stage.run(Balance(account: "a"), way).value.isSuccess)
  }

  /// As declared it has no order, because its prerequisite was never registered.
  @Test(arguments: [Dispatcher.Mode.async, .serial, .serial(lane: "named"), .mainThread])
  func ofAListToAStoreThatRunsOnlyAsRefinedWaitsToo(mode: Dispatcher.Mode) async throws {
    let stage = try await PersistenceStage()
    let reducer = ApplyingReducer(waits: { _, _ in [] }) { _, store in
      store.updateModel { $0 += 1 }
    }
    let store = try await stage.dispatcher.register(
      store: ProbeStore(identifier: "probe", model: 0, reducer: reducer), waitFor: ["later"],
      persisted: .model)
    try await stage.persistence.flush()
    stage.database.hold()
    let handle = stage.dispatcher.dispatch(actions: [Ping(), Ping()], mode: mode)
    while store.model < 2 { await Task.yield() }
    // Whatever was begun after its commits can't overtake its end.
    await stage.dispatcher.send(SetNote(note: "x"), options: .durability(.memory))
    #expect(!handle.hasEnded)
    stage.database.release()
    #expect(await handle.result.isSuccess)
  }

  @Test(arguments: Way.all)
  func ofABlockWaitsToo(way: Way) async throws {
    let stage = try await PersistenceStage(holds: true)
    let latch = Latch()
    let result = stage.run(SlowDeposit(account: "a", latch: latch), way)
    latch.open()
    await stage.reached(1)
    #expect(stage.log.all.isEmpty)
    stage.database.release()
    #expect(await result.value.isSuccess)
    #expect(stage.saved == ["a": "1"])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func ofASequenceKeepsItsLane(mode: Dispatcher.Mode) async throws {
    let stage = try await PersistenceStage(holds: true)
    let (dispatcher, log) = (stage.dispatcher, stage.log)
    let ended = Recorder<DispatchResult>()
    let actions: [any ActionType] = (1...3).map { Deposit(account: "a", amount: $0) }
    Thread.detachNewThread {
      let handle = dispatcher.dispatch(actions: actions, mode: mode) { log.record("sequence") }
      handle.whenEnded { ended.record($0) }
    }
    await stage.reached(3)
    var next: Task<DispatchResult, Never>?
    if mode.isInLane {
      next = stage.run(Deposit(account: "b", amount: 1), Way(mode: mode, sends: false), "next")
      // The lane is held: an action elsewhere overtakes it.
      await dispatcher.send(SetNote(note: "x"), options: .durability(.memory))
      #expect(stage.wallet.model.all["b"] == nil)
    }
    #expect(log.all.isEmpty)
    stage.database.release()
    #expect(await ended.first(1)[0].isSuccess)
    if let next { #expect(await next.value.isSuccess) }
    #expect(log.all.first == "sequence")
    #expect(stage.saved["a"] == "6")
  }

  @Test(arguments: Way.all)
  func cannotBeCancelledAnyLonger(way: Way) async throws {
    let stage = try await PersistenceStage(holds: true)
    let result = stage.run(
      Deposit(account: "a", amount: 5), way, options: .named("deposit"))
    await stage.reached(1)
    result.cancel()
    stage.dispatcher.cancel(named: "deposit")
    #expect(stage.log.all.isEmpty)
    stage.database.release()
    #expect(await result.value.isSuccess)
    #expect(stage.saved == ["a": "5"])
  }

  @Test(arguments: [true, false])
  func ofADetachedSendHeedsNoCancellationOfItsTask(isCancelledBefore: Bool) async throws {
    let stage = try await PersistenceStage(holds: true)
    let task = Task {
      if isCancelledBefore { withUnsafeCurrentTask { $0?.cancel() } }
      return await stage.dispatcher.send(Deposit(account: "a", amount: 5), options: .detached)
    }
    await stage.reached(1)
    task.cancel()
    stage.database.release()
    #expect(await task.value.isSuccess)
    #expect(stage.saved == ["a": "5"])
  }

  @Test(arguments: Way.all)
  func atADeadlineSaysThatItHasCommitted(way: Way) async throws {
    let clock = VirtualClock()
    let stage = try await PersistenceStage(clock: clock, holds: true)
    let result = stage.run(
      Deposit(account: "a", amount: 5), way, options: [.timeout(.seconds(1)), .exclusive("key")])
    await stage.reached(1)
    // The key is free once only saving is left.
    await stage.dispatcher.send(
      SetNote(note: "x"), options: [.exclusive("key"), .durability(.memory)])
    await clock.pass(.seconds(1))
    let error = await result.value.dispatchError
    #expect(error?.code == .timedOut)
    #expect(error?.message.contains("have committed") == true, "\(error as Any)")
    #expect(await result.value["wallet"].isFinished == true)
    try await stage.save()
    #expect(stage.saved == ["a": "5"])
    #expect(stage.log.all == ["ended"])
  }

  /// The thread would stay in the database's driver otherwise.
  @Test(.timeLimit(.minutes(1)), arguments: Dispatcher.Mode.offMainModes, [false, true])
  func atAnInheritedDeadlineLetsABlockedThreadGoOn(
    mode: Dispatcher.Mode, isList: Bool
  ) async throws {
    let clock = VirtualClock()
    let stage = try await PersistenceStage(clock: clock)
    let (dispatcher, results) = (stage.dispatcher, Recorder<DispatchResult?>())
    dispatcher.addStage()
    try await stage.persistence.flush()
    stage.database.hold()
    let outer = dispatcher.dispatch(
      Script.runs { _ in
        let deposit = Deposit(account: "a", amount: 5)
        let inner =
          isList
          ? dispatcher.dispatch(actions: [deposit], mode: .sync)
          : dispatcher.dispatch(deposit, mode: .sync)
        results.record(inner.resultIfEnded)
      }, mode: mode, options: .timeout(.seconds(1)))
    while stage.persistence.state.withLock({ $0.commit.ends.isEmpty }) { await Task.yield() }
    await clock.pass(.seconds(1))
    #expect(await results.first(1)[0]?.errorCode == .timedOut)
    #expect(await outer.result.errorCode == .timedOut)
    try await stage.save()
    #expect(stage.saved == ["a": "5"])
  }

  private struct Sell: ActionType { typealias Reply = Int }

  private func addStock(to dispatcher: Dispatcher) async throws -> Store<Int, HandledAction> {
    try await dispatcher.register(
      store: Store(identifier: "stock", model: 5) {
        On(Sell.self) { count, _ in
          count -= 1
          return count
        }
      }, persisted: .model)
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func atADeadlineHasNoReplyThatACrashCouldUndo(mode: Dispatcher.Mode) async throws {
    let clock = VirtualClock()
    let stage = try await PersistenceStage(clock: clock)
    let stock = try await addStock(to: stage.dispatcher)
    stage.database.hold()
    let handle = stage.dispatcher.dispatch(
      Sell(), mode: mode, options: [.timeout(.seconds(1)), .exclusive("key")])
    for await change in stock.stream(.model, initial: true) where change.value == 4 { break }
    // The key is free once only saving is left.
    await stage.dispatcher.send(
      SetNote(note: "x"), options: [.exclusive("key"), .durability(.memory)])
    clock.advance(by: .seconds(1))
    let result = await handle.result
    #expect(result["stock"].isFinished && result.replies(to: Sell.self).isEmpty)
    let error = #expect(throws: DispatchError.self) {
      try result.reply(to: Sell.self, from: stock)
    }
    #expect(error?.code == .timedOut)
    try await stage.save()
    #expect(try await stage.dispatcher.send(Sell()).reply(from: stock) == 3)
  }

  @Test(.timeLimit(.minutes(1)), arguments: Way.all)
  func atADeadlineBeforeItsStoresHasNoReplyThatACrashCouldUndo(way: Way) async throws {
    let clock = VirtualClock()
    let stage = try await PersistenceStage(clock: clock)
    _ = try await addStock(to: stage.dispatcher)
    let (began, free) = (Latch(), Latch())
    stage.dispatcher.register(
      store: Store(identifier: "audit", model: 0) {
        Perform(withoutReply: Sell.self) { _, _ in
          began.open()
          await free.opened()
        }
      }, waitFor: ["stock"])
    stage.database.hold()
    let ended = stage.run(Sell(), way, options: .timeout(.seconds(1)))
    await began.opened()
    await clock.pass(.seconds(1))
    free.open()
    let result = await ended.value
    #expect(result.errorCode == .timedOut)
    #expect(result["stock"].isFinished && result.replies(to: Sell.self).isEmpty)
    stage.database.release()
    await stage.dispatcher.drain()
  }

  /// Its hooks are called and its unit is free then, although the database is away.
  @Test(.timeLimit(.minutes(1)), arguments: Way.all)
  func ofABlockThatTimesOutComesWithIt(way: Way) async throws {
    let clock = VirtualClock()
    let stage = try await PersistenceStage(clock: clock, holds: true)
    let (hooks, limit) = (Recorder<String>(), DispatchLimit(1, overflow: .wait))
    stage.dispatcher.register(middleware: RecordingMiddleware(to: hooks))
    let slow = SlowDeposit(account: "a", latch: Latch())
    let ended = stage.run(slow, way, options: [.timeout(.seconds(1)), .limited(by: limit)])
    await slow.began.opened()
    await clock.pass(.seconds(1))
    slow.latch.open()
    #expect(await ended.value.errorCode == .timedOut)
    await stage.dispatcher.send(
      SetNote(note: "x"), options: [.limited(by: limit), .durability(.memory)])
    #expect(hooks.all.filter { $0 == "m did wallet" }.count == 2)
    #expect(stage.saved.isEmpty)
    try await stage.save()
    #expect(stage.saved == ["a": "1"])
  }

  /// The lane has been left by then, and is gone.
  @Test(.timeLimit(.minutes(1)))
  func ofASequenceAtADeadlineLetsTheNextEndsOfItsLanePass() async throws {
    let clock = VirtualClock()
    let stage = try await PersistenceStage(clock: clock, holds: true)
    let early = stage.dispatcher.dispatch(
      actions: [Deposit(account: "a", amount: 5)], mode: .serial(lane: "a"),
      options: .timeout(.seconds(1)))
    // Only saving is left.
    while stage.persistence.state.withLock(\.commit.ends.isEmpty) { await Task.yield() }
    await clock.pass(.seconds(1))
    #expect(await early.result.dispatchError?.code == .timedOut)
    let later = (1...3).map { _ in
      stage.dispatcher.dispatch(Deposit(account: "a", amount: 1), mode: .serial(lane: "a"))
    }
    await stage.reached(4)
    stage.database.release()
    for handle in later { #expect(await handle.result.isSuccess) }
    #expect(stage.saved == ["a": "8"])
  }

  @Test(
    arguments: Way.all,
    [
      .durability(.memory), [.durability(.memory), .named("deposit")],
      [.named("deposit"), .durability(.memory)],
    ] as [DispatchOptions])
  func inMemoryWaitsForNothing(way: Way, options: DispatchOptions) async throws {
    let stage = try await PersistenceStage(holds: true)
    let result = stage.run(Deposit(account: "a", amount: 5), way, options: options)
    #expect(await result.value.isSuccess)
    #expect(stage.saved.isEmpty)
    try await stage.save()
    #expect(stage.saved == ["a": "5"])
  }

  @Test(arguments: Way.all)
  func keepsItsUnitOfALimitUntilItIsSaved(way: Way) async throws {
    let stage = try await PersistenceStage(holds: true)
    let limit = DispatchLimit(1)
    let first = stage.run(Deposit(account: "a", amount: 5), way, options: .limited(by: limit))
    await stage.reached(1)
    let second = stage.run(Deposit(account: "a", amount: 5), way, options: .limited(by: limit))
    #expect(await second.value.errorCode == .limitExceeded)
    stage.database.release()
    #expect(await first.value.isSuccess)
    let third = stage.run(Deposit(account: "a", amount: 5), way, options: .limited(by: limit))
    #expect(await third.value.isSuccess)
  }

  @Test(arguments: Way.all)
  func freesItsExclusiveKeyAtTheStoresEnd(way: Way) async throws {
    let stage = try await PersistenceStage(holds: true)
    let first = stage.run(Deposit(account: "a", amount: 5), way, options: .exclusive("a"))
    await stage.reached(1)
    let second = stage.run(
      Deposit(account: "a", amount: 5), Way(mode: .async, sends: true), options: .exclusive("a"))
    await stage.reached(2)
    #expect(stage.log.all.isEmpty)
    stage.database.release()
    #expect(await first.value.isSuccess)
    #expect(await second.value.isSuccess)
  }

  @Test(arguments: Way.all)
  func isAwaitedByADrain(way: Way) async throws {
    let stage = try await PersistenceStage(holds: true)
    let result = stage.run(Deposit(account: "a", amount: 5), way)
    await stage.reached(1)
    #expect(await !stage.dispatcher.drain(timeout: .zero).isComplete)
    stage.database.release()
    #expect(await stage.dispatcher.drain().isComplete)
    #expect(await result.value.isSuccess)
    #expect(stage.saved == ["a": "5"])
  }

  @Test func ofABlockedThreadIsSavedByThatThread() async throws {
    let stage = try await PersistenceStage()
    let (dispatcher, wallet) = (stage.dispatcher, stage.wallet)
    let done = Latch()
    Thread.detachNewThread {
      for _ in 1...50 { dispatcher.dispatch(Deposit(account: "a", amount: 1), mode: .sync) }
      done.open()
    }
    await done.opened()
    #expect(wallet.model.all["a"] == 50)
    #expect(stage.saved == ["a": "50"])
  }

  /// The completion blocks until a later dispatch of its lane has ended, whose end comes after its own.
  @Test(arguments: Dispatcher.Mode.laneModes.filter { $0 != .mainThread })
  func mayWaitForALaterDispatchOfItsLane(mode: Dispatcher.Mode) async throws {
    let stage = try await PersistenceStage()
    let (dispatcher, ended) = (stage.dispatcher, Recorder<DispatchResult>())
    dispatcher.dispatch(Deposit(account: "a", amount: 1), mode: mode) { _ in
      let next = dispatcher.dispatch(Deposit(account: "a", amount: 1), mode: mode)
      ended.record(next.wait())
    }
    #expect(await ended.first(1)[0].isSuccess)
    #expect(stage.saved == ["a": "2"])
  }

  /// Each waits for the next one's end, in one lane: their ends come in the order of the lane.
  @Test func thatDispatchesInItsCompletionEnds() async throws {
    let stage = try await PersistenceStage()
    let (dispatcher, ended) = (stage.dispatcher, Latch())
    @Sendable func next(_ number: Int) {
      guard number > 0 else { return ended.open() }
      dispatcher.dispatch(Deposit(account: "a", amount: 1), mode: .serial) { _ in next(number - 1) }
    }
    next(200)
    await ended.opened()
    #expect(stage.saved == ["a": "200"])
  }
}

enum SendModes {
  /// The mode itself, or another one that a task can send in.
  static func like(_ mode: Dispatcher.Mode) -> Dispatcher.SendMode {
    Dispatcher.SendMode(mode) ?? .async
  }
}
