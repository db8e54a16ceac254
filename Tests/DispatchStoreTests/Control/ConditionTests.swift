import DispatchStoreTesting
import Foundation
import Testing

@testable import DispatchStore

@Suite("Conditions on stores", .timeLimit(.minutes(10)))
struct ConditionTests {
  let it = GateStage()
  let stock = Store<Int, Ping>.probe("stock")

  private func atLeast(_ count: Int) -> DispatchOptions { .when(stock) { $0 >= count } }

  /// The same, noting each check.
  private func atLeast(_ count: Int, noting checks: Recorder<Int>) -> DispatchOptions {
    .when(stock) { present in
      checks.record(present)
      return present >= count
    }
  }

  @Test(arguments: Dispatcher.Mode.everyMode, [false, true])
  func theDispatchBeginsOnceItHolds(_ mode: Dispatcher.Mode, sends: Bool) async {
    let (stock, checks) = (stock, Recorder<Int>())
    let waiting = it.run(
      .runs { [it] _ in it.log.record("began at \(stock.model)") }, mode,
      atLeast(2, noting: checks), sends: sends)
    // It has come to its gate, and keeps no other one from running.
    _ = await checks.first(1)
    #expect(await it.run(it.notes("other"), .serial(lane: "other"), .init()).value.isSuccess)
    stock.updateModel { $0 = 1 }
    #expect(it.log.all == ["other"])
    stock.updateModel { $0 = 2 }
    #expect(await waiting.value.isSuccess)
    #expect(it.log.all == ["other", "began at 2"])
    // It is observed no longer.
    let count = checks.count
    stock.updateModel { $0 = 3 }
    #expect(checks.count == count)
    // One that holds already costs one check.
    #expect(await it.run(it.notes("next"), mode, atLeast(3), sends: sends).value.isSuccess)
  }

  @Test(arguments: Dispatcher.Mode.everyMode, [false, true])
  func allOfSeveralHoldAtOnce(_ mode: Dispatcher.Mode, sends: Bool) async {
    let (stock, other, log) = (stock, Store<Int, Ping>.probe("other"), it.log)
    let waiting = it.run(
      .runs { _ in log.record("\(stock.model) \(other.model)") }, mode,
      [atLeast(1), .when(other) { $0 == 1 }], sends: sends)
    stock.updateModel { $0 = 1 }
    stock.updateModel { $0 = 0 }
    other.updateModel { $0 = 1 }
    #expect(await it.run(it.notes("first"), .serial(lane: "x"), .init()).value.isSuccess)
    stock.updateModel { $0 = 5 }
    #expect(await waiting.value.isSuccess)
    #expect(log.all == ["first", "5 1"])
  }

  @Test(arguments: Dispatcher.Mode.everyMode, [false, true])
  func oneThatCeasesToHoldDuringTheCheckDoesNotHold(
    _ mode: Dispatcher.Mode, sends: Bool
  ) async {
    let (stock, other, log) = (stock, Store<Int, Ping>.probe("other"), it.log)
    let checks = Recorder<Int>()
    stock.updateModel { $0 = 1 }
    let condition = DispatchOptions.when(stock) { count in
      checks.record(count)
      if checks.count == 1 {
        stock.updateModel { $0 = 0 }
        other.updateModel { $0 = 1 }
      }
      return count >= 1
    }
    let waiting = it.run(
      .runs { _ in log.record("\(stock.model) \(other.model)") }, mode,
      [condition, .when(other) { $0 == 1 }], sends: sends)
    _ = await checks.first(2)
    stock.updateModel { $0 = 5 }
    #expect(await waiting.value.isSuccess)
    #expect(log.all == ["5 1"])
  }

  private struct Raise: AtomicAction {}

  /// Calls a closure in the exclusive section of each commit, if its value is observed.
  private struct Watched: Sendable {
    var count = 0
    let whenRead: @Sendable (Int) -> Void
    var value: Int {
      whenRead(count)
      return count
    }
  }

  /// The check comes when the first store has published its commit, and the second one has not.
  @Test(arguments: Dispatcher.Mode.everyMode, [false, true])
  func allOfSeveralHoldAtOnceBesideAnAtomicAction(_ mode: Dispatcher.Mode, sends: Bool) async {
    let (dispatcher, isBetween, hasBegun) = (Dispatcher(), Latch(), Latch())
    let first = dispatcher.register(
      store: Store(identifier: "first", model: 0, reads: .published) {
        On(Raise.self) { count, _ in count += 1 }
      })
    let watched = Watched { count in
      guard count == 1 else { return }
      isBetween.open()
      // Only for a while: a check that waits for the stores can't be seen.
      for _ in 0..<10_000 where !hasBegun.isOpen { sched_yield() }
    }
    let second = dispatcher.register(
      store: Store(identifier: "second", model: watched, reads: .published) {
        On(Raise.self) { watched, _ in watched.count += 1 }
      }, waitFor: ["first"])
    let token = second.observe(.part(\.value)) { _ in }
    let raised = Task { await onOwnThread { dispatcher.dispatch(Raise(), mode: .sync) } }
    await isBetween.opened()
    let waiting = it.run(
      .runs { _ in hasBegun.open() }, mode,
      [.when(first) { $0 == 1 }, .when(second) { $0.count == 0 }], sends: sends)
    #expect(await raised.value.resultIfEnded?.isSuccess == true)
    #expect(!hasBegun.isOpen)
    second.updateModel { $0.count = 0 }
    #expect(await waiting.value.isSuccess)
    token.cancel()
  }

  @Test(arguments: Dispatcher.Mode.everyMode, [false, true])
  func aSavedModelThatIsLoadedCounts(_ mode: Dispatcher.Mode, sends: Bool) async throws {
    let database = MemoryDatabase()
    let former = try await PersistenceStage(on: database)
    await former.dispatcher.send(SetNote(note: "ready"))
    database.crash()
    let bank = Dispatcher(name: "bank")
    try await database.open(for: bank)
    let (wallet, checks) = (WalletStore.wallet(), Recorder<String>())
    let waiting = it.run(
      it.notes("x"), mode,
      .when(wallet) { model in
        checks.record(model.note)
        return model.note == "ready"
      }, sends: sends)
    // Twice: before the store is observed, and then.
    #expect(await checks.first(2) == ["", ""])
    try await bank.register(store: wallet, persisted: .elements(\.all))
    #expect(await waiting.value.isSuccess)
  }

  @Test(arguments: Dispatcher.Mode.laneModes)
  func oneThatWaitsKeepsItsPlaceInItsLane(_ mode: Dispatcher.Mode) async {
    let waiting = it.run(it.notes("waiting"), mode, atLeast(1))
    let behind = it.run(it.notes("behind"), mode, .init())
    #expect(await it.run(it.notes("beside"), .async, .init()).value.isSuccess)
    #expect(it.log.all == ["beside"])
    // By a dispatch, in another lane.
    it.dispatcher.register(store: stock)
    #expect(await stock.send(Ping(), mode: .serial(lane: "other")).isSuccess)
    for task in [waiting, behind] { #expect(await task.value.isSuccess) }
    #expect(it.log.all == ["beside", "waiting", "behind"])
  }

  @Test(arguments: Dispatcher.Mode.everyMode, [false, true])
  func aTimeLimitEndsTheWaitAndTheErrorNamesTheStore(_ mode: Dispatcher.Mode, sends: Bool) async {
    let (stock, checks) = (stock, Recorder<Int>())
    let waiting = it.run(
      it.notes("x"), mode, [.timeout(.seconds(1)), atLeast(1, noting: checks)], sends: sends)
    // Twice: before the store is observed, and then.
    _ = await checks.first(2)
    await it.clock.pass(.seconds(1))
    let result = await waiting.value
    #expect(result.errorCode == .timedOut)
    #expect("\(result.error!)".contains("It waited for a condition on the store \"stock\""))
    stock.updateModel { $0 = 1 }
    #expect(await it.run(it.notes("y"), mode, .init(), sends: sends).value.isSuccess)
    #expect(it.log.all == ["y"])
  }

  @Test(arguments: Dispatcher.Mode.everyMode, [false, true])
  func cancellingEndsTheWait(_ mode: Dispatcher.Mode, sends: Bool) async {
    let (stock, checks) = (stock, Recorder<Int>())
    let waiting = it.run(
      it.notes("x"), mode, [.named("x"), atLeast(1, noting: checks)], sends: sends)
    _ = await checks.first(2)
    if sends, mode != .sync {
      waiting.cancel()
    } else {
      it.dispatcher.cancel(named: "x")
    }
    #expect(await waiting.value["stage"].isCancelled == true)
    stock.updateModel { $0 = 1 }
    #expect(await it.run(it.notes("y"), mode, .init(), sends: sends).value.isSuccess)
    #expect(it.log.all.last == "y")
  }

  /// Commits come while the dispatches are about to observe the store.
  @Test func noCommitIsMissed() async {
    let (it, stock) = (it, stock)
    for round in 1...Load.count(300) {
      let modes = Dispatcher.Mode.everyMode
      let tasks = modes.indices.map { index in
        it.run(
          it.notes("\(round)"), modes[index], atLeast(round), sends: (index + round) % 3 == 0)
      }
      await onOwnThreads(2) { index in stock.updateModel { $0 = max($0, round - 1 + index) } }
      for task in tasks { #expect(await task.value.isSuccess) }
    }
    #expect(it.log.count == Load.count(300) * Dispatcher.Mode.everyMode.count)
  }

  /// It holds at the check: another thread may commit right after it, unless both have one key.
  @Test(arguments: Dispatcher.Mode.everyMode)
  func withAKeyThatAllChangesHaveItHoldsWhereTheDispatchRuns(_ mode: Dispatcher.Mode) async {
    let (it, stock) = (it, stock)
    it.dispatcher.register(store: stock)
    let take = Script.runs { _ in
      it.log.record("\(stock.model > 0)")
      stock.updateModel { $0 -= 1 }
    }
    let count = Load.count(100)
    let takers = (0..<count).map { index in
      it.run(take, mode, [atLeast(1), .exclusive("stock")], sends: index % 2 == 0)
    }
    for _ in 0..<count {
      #expect(await stock.send(Ping(), options: .exclusive("stock")).isSuccess)
    }
    for taker in takers { #expect(await taker.value.isSuccess) }
    #expect(it.log.all == Array(repeating: "true", count: count))
    #expect(stock.model == 0 && it.isClean)
  }

  /// What waits for a condition has no key, and what waits for a key checks its condition again.
  @Test(arguments: Dispatcher.Mode.everyMode, [false, true])
  func oneWithAKeyWaitsWithoutIt(_ mode: Dispatcher.Mode, sends: Bool) async {
    let (stock, checks, free, log) = (stock, Recorder<Int>(), Latch(), it.log)
    let holder = await it.begin("holder", until: free, .async, .exclusive("a"))
    stock.updateModel { $0 = 1 }
    let waiting = it.run(
      .runs { _ in log.record("began at \(stock.model)") }, mode,
      [.exclusive("a"), atLeast(1, noting: checks)], sends: sends)
    _ = await checks.first(1)
    stock.updateModel { $0 = 0 }
    free.open()
    #expect(await holder.value.isSuccess)
    // Others of its key run meanwhile.
    #expect(await it.run(it.notes("other"), .async, .exclusive("a")).value.isSuccess)
    stock.updateModel { $0 = 2 }
    #expect(await waiting.value.isSuccess)
    #expect(log.all.suffix(2).sorted() == ["began at 2", "other"], "\(log.all)")
    #expect(it.isClean)
  }

  /// The observer keeps the store's delivery turn while it waits.
  @Test func anObserverOfTheStoreMayWaitForIt() async {
    let (it, stock) = (it, stock)
    let token = stock.observe(.model) { change in
      guard change.value == 1 else { return }
      it.log.record("observer")
      it.dispatcher.dispatch(
        action: it.notes("waited"), mode: .sync, options: .when(stock) { $0 >= 2 })
      it.log.record("on")
    }
    async let first: Void = onOwnThread { stock.updateModel { $0 = 1 } }
    _ = await it.log.first(1)
    await onOwnThread { stock.updateModel { $0 = 2 } }
    await first
    #expect(it.log.all == ["observer", "waited", "on"])
    token.cancel()
  }

  @Test func anObserverOfTheStoreMayWaitForItOutsideOfTheLibrary() async {
    let (it, stock, ended) = (it, stock, Latch())
    let waits = it.dispatcher.dispatch(
      action: it.notes("waited"), mode: .async, options: .when(stock) { $0 >= 2 }
    ) { ended.open() }
    let token = stock.observe(.model) { change in
      guard change.value == 1 else { return }
      it.log.record("observer")
      ended.wait()
    }
    async let first: Void = onOwnThread { stock.updateModel { $0 = 1 } }
    _ = await it.log.first(1)
    await onOwnThread { stock.updateModel { $0 = 2 } }
    #expect(await waits.result.isSuccess)
    await first
    #expect(it.log.all == ["observer", "waited"])
    token.cancel()
  }

  @Test func aDispatcherThatNoOneElseKeepsLivesUntilTheConditionHolds() async {
    let (stock, log) = (stock, Recorder<String>())
    let handle: DispatchHandle
    do {
      let (dispatcher, _) = makeStage()
      handle = dispatcher.dispatch(
        action: Script.runs { _ in log.record("ran") }, mode: .serial, options: atLeast(1))
    }
    stock.updateModel { $0 = 1 }
    #expect(await handle.result.isSuccess)
    #expect(log.all == ["ran"])
  }
}
