import DispatchStoreTesting
import Foundation
import Testing

@testable import DispatchStore

@Suite("Failures of persistence", .timeLimit(.minutes(10)))
struct PersistenceFailureTests {
  @Test(arguments: Way.all)
  func endWhatWaitsAndRefuseWhatComes(way: Way) async throws {
    let stage = try await PersistenceStage()
    stage.database.fail(.inputOutput)
    let result = await stage.run(Deposit(account: "a", amount: 5), way).value
    #expect(result.errorCode == .persistenceFailed)
    #expect((result.dispatchError?.cause as? PersistenceError)?.code == .inputOutput)
    #expect(result.dispatchError?.message.contains("not saved") == true)
    // The store has finished, so that is not all that a log has to say.
    #expect("\(result)".contains("wallet finished, persistenceFailed: "))
    // Nothing runs any longer, and reads still work.
    let next = await stage.run(Deposit(account: "a", amount: 5), way).value
    #expect(next.errorCode == .persistenceFailed)
    #expect(stage.wallet.model.all["a"] == 5)
    #expect(stage.saved.isEmpty)
    #expect(stage.persistence.status.hasFailed)
    await #expect(throws: PersistenceError.self) { try await stage.persistence.flush() }
    await #expect(throws: PersistenceError.self) {
      try await stage.dispatcher.register(store: .wallet("other"), persisted: .model)
    }
  }

  private struct Sell: ActionType { typealias Reply = Int }

  @Test(arguments: Way.all)
  func leaveNoReplyThatACrashUndoes(way: Way) async throws {
    let stage = try await PersistenceStage()
    let stock = try await stage.dispatcher.register(
      store: Store(identifier: "stock", model: 5) {
        On(Sell.self) { count, _ in
          count -= 1
          return count
        }
      }, persisted: .model)
    stage.database.fail(.inputOutput)
    let result = await stage.run(Sell(), way).value
    #expect(stock.model == 4 && result["stock"].isFinished)
    #expect(result.replies(to: Sell.self).isEmpty)
    let error = #expect(throws: DispatchError.self) {
      try result.reply(to: Sell.self, from: stock)
    }
    #expect(error?.code == .persistenceFailed)
  }

  private struct Slow: ActionType {}

  /// Lets the block of an action commit after a failure; returns the persistence as long as it exists.
  private func failBeforeABlockCommits(way: Way) async throws -> @Sendable () -> Persistence? {
    let (stage, hasBegun, hasFailed) = (try await PersistenceStage(), Latch(), Latch())
    let slow = Store<Int, HandledAction>(identifier: "slow", model: 0) {
      Perform(Slow.self) { _, context in
        hasBegun.open()
        await hasFailed.opened()
        try context.updateModel { $0 += 1 }
      }
    }
    try await stage.dispatcher.register(store: slow, persisted: .model)
    let handle = stage.dispatcher.dispatch(Slow(), mode: .serial(lane: "slow"))
    await hasBegun.opened()
    stage.database.fail(.inputOutput)
    _ = await stage.run(Deposit(account: "a", amount: 5), way).value
    hasFailed.open()
    #expect(await handle.result.errorCode == .persistenceFailed)
    #expect(slow.model == 1)
    await stage.dispatcher.drain()
    return { [weak persistence = stage.persistence] in persistence }
  }

  @Test(arguments: Way.all)
  func keepNothingOfThePersistenceAlthoughABlockCommitsAfterwards(way: Way) async throws {
    let persistence = try await failBeforeABlockCommits(way: way)
    while persistence() != nil { await Task.yield() }
  }

  /// Nobody will save them, however long the program runs on.
  @Test func keepNothingOfCommitsThatComeAfterwards() async throws {
    final class Part: Codable, Sendable {}
    struct Parts: ModelType, Codable { var all = TrackedDictionary<String, Part>() }
    struct WeakPart { weak let part: Part? }
    let (database, dispatcher) = (MemoryDatabase(), Dispatcher(name: "bank"))
    let persistence = try await database.open(for: dispatcher)
    let store: Store<Parts, HandledAction> = Store(identifier: "parts", model: Parts()) {
      On(Close.self) { $0.all[$1.account] = nil }
    }
    try await dispatcher.register(store: store, persisted: .elements(\.all))
    persistence.project(store) { _, _ in }
    var parts: [WeakPart] = []
    func change(_ key: String) {
      let part = Part()
      parts.append(WeakPart(part: part))
      store.updateModel { $0.all[key] = part }
      store.updateModel { $0.all[key] = nil }
    }
    database.hold()
    database.failAtCommit(.inputOutput)
    store.updateModel { $0.all["a"] = Part() }
    while persistence.state.withLock({ !$0.dirty.isEmpty }) { await Task.yield() }
    // For the group after the one that fails.
    change("b")
    database.release()
    await #expect(throws: PersistenceError.self) { try await persistence.flush() }
    for number in 1...1_000 { change("\(number)") }
    #expect(parts.count { $0.part != nil } == 0)
    await #expect(throws: PersistenceError.self) {
      try await store.savedElement(\.all, "c")
    }
  }

  @Test(arguments: Way.all, [MemoryDatabase.Fault.busy, .full])
  func thatPassAreOvercome(way: Way, fault: MemoryDatabase.Fault) async throws {
    let stage = try await PersistenceStage()
    stage.database.fail(fault, count: 3)
    #expect(await stage.run(Deposit(account: "a", amount: 5), way).value.isSuccess)
    #expect(stage.saved == ["a": "5"])
    #expect(await stage.warnings.first(1).map(\.kind) == [.savingDelayed])
    #expect(stage.warnings.all[0].storeIdentifier == nil)
    #expect(stage.persistence.status.lastError == nil)
  }

  @Test(arguments: [MemoryDatabase.Fault.busy, .full])
  func aLockIsWaitedForWhileItOpens(fault: MemoryDatabase.Fault) async throws {
    let database = MemoryDatabase()
    database.fail(fault, count: 2)
    let persistence = try await database.open(for: Dispatcher(name: "shop"))
    #expect(persistence.status.lastError == nil)
    try await persistence.close()
  }

  @Test(arguments: Way.all, 0..<4)
  func atAnyStepLeaveAWholeGroupOrNothing(way: Way, step: Int) async throws {
    let stage = try await PersistenceStage()
    stage.database.fail(.busy, afterSteps: step)
    #expect(await stage.run(Deposit(account: "a", amount: 5), way).value.isSuccess)
    #expect(stage.saved == ["a": "5"])
  }

  @Test(arguments: Way.all)
  func ofACommitThatHasHappenedAreNoticed(way: Way) async throws {
    let stage = try await PersistenceStage()
    stage.database.failAtCommit(.commitUnknown)
    #expect(await stage.run(Deposit(account: "a", amount: 5), way).value.isSuccess)
    #expect(stage.saved == ["a": "5"])
    #expect(await stage.run(Deposit(account: "a", amount: 5), way).value.isSuccess)
    #expect(stage.saved == ["a": "10"])
  }

  @Test func ofACommitThatHasHappenedComeAtTheNextCommit() async throws {
    let stage = try await PersistenceStage()
    let before = stage.database.stepCount
    stage.database.fail(.commitUnknown)
    let result = await stage.dispatcher.send(Deposit(account: "a", amount: 5)).result
    #expect(result.isSuccess)
    // The begin, the store's version, the row, the commit, and a look whether it has happened.
    #expect(stage.database.stepCount == before + 5)
    #expect(stage.saved == ["a": "5"])
  }

  @Test(.timeLimit(.minutes(1))) func holdNoCommitBackInASimulation() async {
    let report = await Simulation(seed: 1).run { dispatcher in
      let database = MemoryDatabase()
      let persistence = try await database.open(for: dispatcher)
      _ = try await dispatcher.register(store: .wallet("wallet"), persisted: .model)
      database.hold()
      await dispatcher.send(Deposit(account: "a", amount: 5))
      try await persistence.flush()
    }
    #expect(report.failure == nil, "\(report)")
  }

  @Test func ofACommitThatHasHappenedDoNotEndAWaitForTheNextGroup() async throws {
    let stage = try await PersistenceStage()
    stage.database.failAtCommit(.commitUnknown)
    stage.wallet.updateModel { $0.all["a"] = 5 }
    try await stage.persistence.flush()
    // The same with another group behind it, which has to wait.
    let (calls, hasAll) = (EventCount(of: 1), DispatchSemaphore(value: 0))
    stage.persistence.project(stage.wallet) { [database = stage.database] _, _ in
      switch calls.add() {
      case 1:
        hasAll.wait()
        database.failAtCommit(.commitUnknown)
      case 2: database.fail(.busy)
      default: break
      }
    }
    stage.wallet.updateModel { $0.all["b"] = 1 }
    await calls.full()
    for number in 2...3 { stage.wallet.updateModel { $0.all["b"] = number } }
    hasAll.signal()
    try await stage.persistence.flush()
    #expect(calls.count == 3)
    #expect(stage.saved == ["a": "5", "b": "3"])
    #expect(!stage.persistence.status.hasFailed)
  }

  @Test func ofACommitThatHasHappenedLeaveTheNextGroupToAnotherThread() async throws {
    let stage = try await PersistenceStage()
    let (begun, ended, names) = (Recorder<Int>(), Recorder<Int>(), Recorder<String?>())
    let goesOn = DispatchSemaphore(value: 0)
    stage.persistence.project(stage.wallet) { changes, _ in
      switch (changes.elements(\.all) ?? []).map({ $0.key }) {
      case ["a"]:
        begun.record(0)
        goesOn.wait()
      case ["b"]: names.record(Thread.current.name)
      default: break
      }
    }
    // The caller writes its own commit.
    for round in 1...20 {
      stage.database.failAtCommit(.commitUnknown)
      Thread.detachNewThread { [dispatcher = stage.dispatcher] in
        Thread.current.name = "caller"
        dispatcher.dispatch(Deposit(account: "a", amount: 1), mode: .sync)
        ended.record(0)
      }
      _ = await begun.first(round)
      stage.wallet.updateModel { $0.all["b"] = round }
      goesOn.signal()
      _ = await ended.first(round)
      try await stage.persistence.flush()
    }
    #expect(names.all.count == 20 && !names.all.contains("caller"))
    #expect(stage.saved == ["a": "20", "b": "20"])
  }

  @Test func ofAnotherOwnerEndIt() async throws {
    let stage = try await PersistenceStage()
    stage.database.crash()
    let other = try await PersistenceStage(on: stage.database)
    stage.database.reviveConnections()
    let result = await stage.dispatcher.send(Deposit(account: "a", amount: 5)).result
    #expect((result.dispatchError?.cause as? PersistenceError)?.code == .notOwner)
    #expect(stage.saved.isEmpty)
    #expect(await other.dispatcher.send(Deposit(account: "b", amount: 5)).result.isSuccess)
  }

  @Test func ofACrashEndItAlsoIfEarlierConnectionsWereRevived() async throws {
    let first = try await PersistenceStage()
    first.database.crash()
    let stage = try await PersistenceStage(on: first.database)
    first.database.reviveConnections()
    #expect(await stage.dispatcher.send(Deposit(account: "a", amount: 5)).result.isSuccess)
    stage.database.crash()
    let result = await stage.dispatcher.send(Deposit(account: "a", amount: 5)).result
    #expect(result.errorCode == .persistenceFailed)
    #expect(stage.saved == ["a": "5"])
  }

  /// The crash comes while another thread commits.
  @Test(arguments: Way.all)
  func ofACrashLetNoCommitComeAfterIt(way: Way) async throws {
    for _ in 0..<Load.count(100) {
      let stage = try await PersistenceStage()
      let before = stage.database.stepCount
      let result = stage.run(Deposit(account: "a", amount: 5), way)
      // Its begin, the store's version, the row, and the commit.
      while stage.database.stepCount < before + 4 { await Task.yield() }
      stage.database.crash()
      let saved = stage.saved
      _ = await result.value
      #expect(stage.saved == saved)
    }
  }

  @Test(arguments: Way.all)
  func ofAnotherOwnerThatComesInATransactionEndIt(way: Way) async throws {
    let stage = try await PersistenceStage()
    let before = stage.database.stepCount
    stage.database.hold()
    let result = stage.run(Deposit(account: "a", amount: 5), way)
    // Its begin, the store's version, and the row.
    while stage.database.stepCount < before + 3 { await Task.yield() }
    stage.database.becomeOwned()
    stage.database.release()
    let error = await result.value.dispatchError
    #expect((error?.cause as? PersistenceError)?.code == .notOwner)
    #expect(stage.saved.isEmpty)
  }

  @Test func ofAValueThatCannotBeEncodedNameStoreKeyAndPath() async throws {
    struct Broken: Codable, Sendable {
      var inner = ["x": 1.0]
      func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: Key.self)
        var inner = values.nestedContainer(keyedBy: Key.self, forKey: Key(stringValue: "inner")!)
        try inner.encode(Double.nan, forKey: Key(stringValue: "x")!)
      }
      struct Key: CodingKey {
        var stringValue: String
        var intValue: Int? { nil }
        init?(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
      }
    }
    struct Values: ModelType, Codable { var all = TrackedDictionary<String, Broken>() }
    struct Strict: PersistenceCoder {
      func encode(_ value: some Encodable) throws -> Data { try JSONEncoder().encode(value) }
      func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
        try JSONDecoder().decode(type, from: data)
      }
    }
    let (database, dispatcher) = (MemoryDatabase(), Dispatcher(name: "bank"))
    try await database.open(for: dispatcher, coder: Strict())
    try await dispatcher.register(
      store: Store(identifier: "values", model: Values()) {
        On(Close.self) { values, action in values.all[action.account] = Broken() }
      }, persisted: .elements(\.all))
    let error = await dispatcher.send(Close(account: "k")).result.dispatchError
    let cause = error?.cause as? PersistenceError
    #expect(cause?.code == .notEncodable)
    for part in ["\"values\"", "element k", "at x", "nan"] {
      #expect(cause?.message.contains(part) == true, "\(part): \(cause as Any)")
    }
  }

  @Test func ofARowThatIsTooLargeNameIt() async throws {
    /// Makes one element a row of zeros, which take no memory before they are written.
    struct Large: PersistenceCoder {
      let coder = JSONPersistenceCoder()
      func encode(_ value: some Encodable) throws -> Data {
        value as? Int == 77 || value is KeyRow ? Data(count: 513 << 20) : try coder.encode(value)
      }
      func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
        try coder.decode(type, from: data)
      }
    }
    let stage = try await PersistenceStage(coder: Large())
    let result = await stage.dispatcher.send(Deposit(account: "k", amount: 77)).result
    let cause = result.dispatchError?.cause as? PersistenceError
    #expect(cause?.code == .notEncodable)
    for part in ["\"wallet\"", "element k", "513 MiB"] {
      #expect(cause?.message.contains(part) == true, "\(part): \(cause as Any)")
    }
    let keyed = try await PersistenceStage(coder: Large())
    _ = await keyed.dispatcher.send(
      Deposit(account: "k", amount: 1), options: .idempotencyKey("once"))
    try? await keyed.persistence.flush()
    let error = keyed.persistence.status.lastError
    #expect(error?.code == .notEncodable)
    for part in ["key \"once\"", "513 MiB"] {
      #expect(error?.message.contains(part) == true, "\(part): \(error as Any)")
    }
  }

  @Test func ofAKeyWithoutATextNameIt() async throws {
    let stage = try await PersistenceStage()
    let result = await stage.dispatcher.send(Deposit(account: "a\u{0}", amount: 1)).result
    let cause = result.dispatchError?.cause as? PersistenceError
    #expect(cause?.code == .notEncodable)
    #expect(cause?.message.contains("U+0000") == true)
  }

  /// Leaves commits unsaved until the database is released.
  private func holdBack(_ count: Int, of stage: PersistenceStage) async {
    stage.database.hold()
    for _ in 1...count {
      await stage.dispatcher.send(Deposit(account: "a", amount: 1), options: .durability(.memory))
    }
  }

  @Test(arguments: Way.all)
  func thatLastHoldDispatchesBackAboveTheLimit(way: Way) async throws {
    let stage = try await PersistenceStage(limits: .suspending(commits: 3))
    await holdBack(3, of: stage)
    let result = stage.run(Deposit(account: "b", amount: 1), way)
    stage.wallet.updateModel { $0.all["c"] = 1 }
    #expect(stage.wallet.model.all["b"] == nil)
    stage.database.release()
    #expect(await result.value.isSuccess)
    #expect(stage.saved["b"] == "1")
  }

  /// A group is saved, and the next one alone is as large as the limit.
  @Test(arguments: Way.all)
  func thatLastHoldDispatchesBackAsLongAsTheRowsAreTooLarge(way: Way) async throws {
    let stage = try await PersistenceStage(limits: .suspending(bytes: 1))
    let (begun, goesOn) = (Recorder<Int>(), DispatchSemaphore(value: 0))
    stage.persistence.project(stage.wallet) { _, _ in
      begun.record(0)
      goesOn.wait()
    }
    stage.wallet.updateModel { $0.all["a"] = 1 }
    _ = await begun.first(1)
    stage.wallet.updateModel { $0.all["a"] = 2 }
    let result = stage.run(Deposit(account: "b", amount: 1), way)
    while !stage.persistence.holdsDispatchesBack { await Task.yield() }
    goesOn.signal()
    _ = await begun.first(2)
    #expect(stage.persistence.holdsDispatchesBack)
    for _ in 1...2 { goesOn.signal() }
    #expect(await result.value.isSuccess)
    #expect(stage.saved == ["a": "2", "b": "1"])
  }

  private struct Quote: ActionType { typealias Reply = String }

  /// The rows of keys have replies, which may be larger than what the stores have changed.
  @Test(arguments: Way.all)
  func thatLastHoldDispatchesBackIfTheRowsOfKeysAreTooLarge(way: Way) async throws {
    let stage = try await PersistenceStage(limits: .suspending(bytes: 50_000))
    let quotes = Store<Int, HandledAction>(identifier: "quotes", model: 0) {
      On(Quote.self) { count, _ in
        count += 1
        return String(repeating: "x", count: 100_000)
      }
    }
    try await stage.dispatcher.register(store: quotes, persisted: .model)
    await stage.dispatcher.send(Quote(), options: .idempotencyKey("a"))
    await holdBack(1, of: stage)
    let result = stage.run(Deposit(account: "b", amount: 1), way)
    while !stage.persistence.holdsDispatchesBack, stage.wallet.model.all["b"] == nil {
      await Task.yield()
    }
    #expect(stage.wallet.model.all["b"] == nil)
    stage.database.release()
    #expect(await result.value.isSuccess)
  }

  @Test(arguments: Way.all)
  func thatLastRejectDispatchesAboveTheLimit(way: Way) async throws {
    let stage = try await PersistenceStage(limits: .rejecting(commits: 3))
    await holdBack(3, of: stage)
    let rejected = stage.run(
      Deposit(account: "b", amount: 1), way, options: .durability(.memory))
    #expect(await rejected.value.errorCode == .limitExceeded)
    try await stage.save()
    #expect(await stage.run(Deposit(account: "b", amount: 1), way).value.isSuccess)
  }

  /// A list that has begun would be left half done, although its own commits are what is unsaved.
  @Test(arguments: [Dispatcher.Mode.async, .serial, .serial(lane: "a")])
  func thatLastHoldTheRestOfAListBackInsteadOfRejectingIt(mode: Dispatcher.Mode) async throws {
    let stage = try await PersistenceStage(limits: .rejecting(commits: 3), holds: true)
    let list = stage.dispatcher.dispatch(
      actions: (1...5).map { _ in Deposit(account: "a", amount: 1) }, mode: mode,
      options: .durability(.memory))
    while !stage.persistence.holdsDispatchesBack, list.resultIfEnded == nil { await Task.yield() }
    #expect(stage.wallet.model.all["a"] == 3)
    stage.database.release()
    #expect(await list.result.isSuccess)
    try await stage.persistence.flush()
    #expect(stage.saved["a"] == "5")
  }

  /// Nothing of it has run, so that it can be repeated, and has nothing to wait for.
  @Test(
    arguments: [Dispatcher.Mode.async, .serial, .serial(lane: "a")],
    [DispatchOptions(), .continuingOnFailure])
  func thatLastRejectAListAsAWhole(mode: Dispatcher.Mode, options: DispatchOptions) async throws {
    let stage = try await PersistenceStage(limits: .rejecting(commits: 3))
    await holdBack(3, of: stage)
    let list = stage.dispatcher.dispatch(
      actions: (1...3).map { _ in Deposit(account: "b", amount: 1) }, mode: mode, options: options)
    while list.resultIfEnded == nil,
      stage.persistence.state.withLock({ $0.commit.ends.isEmpty && $0.commit.heldBack.isEmpty })
    {
      await Task.yield()
    }
    let result = list.resultIfEnded
    stage.database.release()
    #expect(result?.errorCode == .limitExceeded)
    #expect(result?.steps.count == 1)
    await list.ended()
    try await stage.persistence.flush()
    #expect(stage.saved == ["a": "3"])
  }

  @Test(arguments: GroupForm.allCases)
  func thatLastHoldCompensationsBackInsteadOfRejectingThem(form: GroupForm) async throws {
    let stage = try await PersistenceStage(limits: .rejecting(commits: 3))
    let (database, dispatcher, wallet) = (stage.database, stage.dispatcher, stage.wallet)
    let group = ActionGroup {
      ActionStep(Deposit(account: "a", amount: 1)).compensated(by: Close(account: "a"))
      ActionStep(from: { _ in
        database.hold()
        for number in 1...3 { wallet.updateModel { $0.note = "\(number)" } }
        return Deposit(account: "b", amount: 1)
      })
    }
    let running = Task { await form.run(group, by: dispatcher) }
    while !stage.persistence.holdsDispatchesBack, stage.warnings.all.isEmpty { await Task.yield() }
    database.release()
    let result = await running.value
    #expect(result.errorCode == .limitExceeded)
    #expect(result.compensated.map { $0.compensation?.isSuccess } == [true])
    #expect(stage.wallet.model.all.isEmpty)
  }

  @Test(arguments: GroupForm.allCases)
  func thatLastLeaveNothingToUndoOfARejectedStep(form: GroupForm) async throws {
    let stage = try await PersistenceStage(limits: .rejecting(commits: 3))
    await holdBack(3, of: stage)
    let group = ActionGroup {
      ActionStep(Deposit(account: "b", amount: 1), options: .durability(.memory))
        .compensated(by: Close(account: "a"), ifOnlyBegun: true)
    }
    let result = await form.run(group, by: stage.dispatcher)
    #expect(result.errorCode == .limitExceeded)
    #expect(result.compensated.isEmpty)
    try await stage.save()
  }

  @Test(arguments: [PersistenceLimits.suspending(bytes: 0), .rejecting(bytes: -1)])
  func doNotHoldDispatchesBackThoughTheLimitIsZeroBytes(limits: PersistenceLimits) async throws {
    let stage = try await PersistenceStage(limits: limits)
    for _ in 1...3 {
      #expect(await stage.dispatcher.send(Deposit(account: "a", amount: 1)).result.isSuccess)
    }
    #expect(stage.saved == ["a": "3"])
  }

  @Test(arguments: Way.all)
  func doNotKeepACancelledDispatchBack(way: Way) async throws {
    let stage = try await PersistenceStage(limits: .suspending(commits: 1), holds: true)
    await stage.dispatcher.send(Deposit(account: "a", amount: 1), options: .durability(.memory))
    let result = stage.run(Deposit(account: "b", amount: 1), way, options: .named("b"))
    while stage.dispatcher.cancel(named: "b") == 0 { await Task.yield() }
    #expect(await !result.value.isSuccess)
    #expect(stage.wallet.model.all["b"] == nil)
    stage.database.release()
  }

  @Test func closingSavesAndRefuses() async throws {
    let stage = try await PersistenceStage()
    stage.wallet.updateModel { $0.all["a"] = 1 }
    try await stage.persistence.close()
    #expect(stage.saved == ["a": "1"])
    let result = await stage.dispatcher.send(Deposit(account: "a", amount: 1)).result
    #expect((result.dispatchError?.cause as? PersistenceError)?.code == .closed)
    // Another process can open it.
    let next = try await PersistenceStage(on: stage.database)
    #expect(next.wallet.model.all["a"] == 1)
    #expect(next.persistence.status.epoch == stage.persistence.status.epoch + 1)
  }

  @Test(arguments: Way.all, [MemoryDatabase.Fault.busy, .full])
  func thatLastEndClosingAtItsTimeout(way: Way, fault: MemoryDatabase.Fault) async throws {
    let stage = try await PersistenceStage()
    stage.database.fail(fault, count: .max / 2)
    let waiting = stage.run(Deposit(account: "a", amount: 1), way)
    await stage.reached(1)
    let error = await #expect(throws: PersistenceError.self) {
      try await stage.persistence.close(timeout: .milliseconds(1))
    }
    #expect(error?.code == .closed)
    #expect(error?.message.contains("1 commit not saved") == true, "\(error as Any)")
    #expect(await waiting.value.errorCode == .persistenceFailed)
    // The database is closed, so another process can open it.
    stage.database.removeFaults()
    let next = try await PersistenceStage(on: stage.database)
    #expect(next.wallet.model.all["a"] == nil)
    #expect(await next.dispatcher.send(Deposit(account: "a", amount: 1)).result.isSuccess)
  }

  @Test func thatHaveNotComeLetClosingAwaitTheAttemptUnderWay() async throws {
    let stage = try await PersistenceStage(holds: true)
    let first = Task { await stage.dispatcher.send(Deposit(account: "a", amount: 1)).result }
    // Until the writer has taken the commit, so that its attempt is under way.
    func isUnderWay(_ state: inout Persistence.State) -> Bool {
      state.commit.role == .taken && state.commit.lag == 1 && state.dirty.isEmpty
    }
    while !stage.persistence.state.withLock(isUnderWay) { await Task.yield() }
    let closing = Task { try await stage.persistence.close(timeout: .zero) }
    while stage.persistence.state.withLock({ $0.commit.lastAttempt == nil }) { await Task.yield() }
    // Comes after the time was over, so it is not tried.
    let second = Task { await stage.dispatcher.send(Deposit(account: "b", amount: 1)).result }
    await stage.reached(2)
    stage.database.release()
    #expect(await first.value.isSuccess)
    #expect(await second.value.errorCode == .persistenceFailed)
    let error = await #expect(throws: PersistenceError.self) { try await closing.value }
    #expect(error?.code == .closed)
    #expect(stage.saved == ["a": "1"])
    let next = try await PersistenceStage(on: stage.database)
    #expect(next.wallet.model.all["b"] == nil)
  }

  @Test(arguments: [MemoryDatabase.Fault.busy, .full])
  func thatLastDoNotHoldUpClosingIfNothingIsUnsaved(fault: MemoryDatabase.Fault) async throws {
    let stage = try await PersistenceStage()
    #expect(await stage.dispatcher.send(Deposit(account: "a", amount: 1)).result.isSuccess)
    stage.database.fail(fault, count: .max / 2)
    try await stage.persistence.close(timeout: .milliseconds(20))
    stage.database.removeFaults()
    let next = try await PersistenceStage(on: stage.database)
    #expect(next.wallet.model.all["a"] == 1)
  }

  /// The program has not stopped everything that changes its stores.
  @Test func closingEndsAlsoWhileCommitsKeepComing() async throws {
    let stage = try await PersistenceStage()
    stage.wallet.updateModel { $0.all["a"] = 1 }
    let wallet = stage.wallet
    let updates = Task.detached {
      while !Task.isCancelled { wallet.updateModel { $0.all["b", default: 0] += 1 } }
    }
    while stage.wallet.model.all["b"] == nil { await Task.yield() }
    do {
      try await stage.persistence.close()
    } catch let error as PersistenceError {
      #expect(error.code == .closed && error.message.contains("not saved"))
    }
    updates.cancel()
    await updates.value
    #expect(stage.saved["a"] == "1")
  }

  @Test func thatPassLetClosingSaveEverything() async throws {
    let stage = try await PersistenceStage()
    stage.database.fail(.busy, count: 3)
    stage.wallet.updateModel { $0.all["a"] = 1 }
    try await stage.persistence.close(timeout: .seconds(600))
    #expect(stage.saved == ["a": "1"])
  }

  @Test func statusIsObserved() async throws {
    let stage = try await PersistenceStage()
    let statuses = stage.persistence.statuses
    let seen = Task { () -> PersistenceStatus? in
      for await status in statuses where status.hasFailed { return status }
      return nil
    }
    await stage.dispatcher.send(Deposit(account: "a", amount: 1))
    stage.database.fail(.inputOutput)
    await stage.dispatcher.send(Deposit(account: "a", amount: 1))
    #expect(await seen.value?.lastError?.code == .inputOutput)
  }

  @Test func areSeenByAnObserverOfTheStatusThatComesMeanwhile() async throws {
    for _ in 1...200 {
      let stage = try await PersistenceStage()
      stage.database.fail(.inputOutput)
      async let sent = stage.dispatcher.send(Deposit(account: "a", amount: 1))
      for await status in stage.persistence.statuses where status.hasFailed { break }
      let result = await sent.result
      #expect(!result.isSuccess)
    }
  }

  @Test func aLargeModelRowIsReportedOnce() async throws {
    let stage = try await PersistenceStage(form: .model)
    for _ in 1...2 {
      await stage.dispatcher.send(SetNote(note: String(repeating: "x", count: 70_000)))
      await stage.dispatcher.send(SetNote(note: String(repeating: "y", count: 70_000)))
    }
    stage.persistence.warningQueue.sync {}
    #expect(stage.warnings.all.map(\.kind) == [.largeModelRow])
    #expect(stage.warnings.all[0].storeIdentifier == "wallet")
  }

  private struct Alert: ActionType {}

  @Test(arguments: Way.all)
  func areReportedToAHandlerThatWaitsForSaving(way: Way) async throws {
    let stage = try await PersistenceStage(form: .model)
    let alerts = Store<Int, HandledAction>(identifier: "alerts", model: 0) {
      On(Alert.self) { count, _ in count += 1 }
    }
    try await stage.dispatcher.register(store: alerts, persisted: .model)
    let reported = Recorder<DispatchWarning.Kind?>()
    stage.dispatcher.onWarning { [weak dispatcher = stage.dispatcher] warning in
      let result = dispatcher?.dispatch(Alert(), mode: .sync).resultIfEnded
      reported.record(result?.isSuccess == true ? warning.kind : nil)
    }
    stage.database.fail(.busy)
    let note = String(repeating: "x", count: 70_000)
    #expect(await stage.run(SetNote(note: note), way).value.isSuccess)
    #expect(await reported.first(2) == [.savingDelayed, .largeModelRow])
    #expect(alerts.model == 2)
    try await stage.persistence.close(timeout: .seconds(600))
  }

  /// Returns a stage whose handler of warnings has begun, and waits until it may go on.
  private func reportingStage(
    until mayGoOn: Latch, then body: @escaping @Sendable () -> Void
  ) async throws -> PersistenceStage {
    let (stage, hasBegun) = (try await PersistenceStage(form: .model), Latch())
    stage.dispatcher.onWarning { _ in
      hasBegun.open()
      mayGoOn.wait()
      body()
    }
    await stage.dispatcher.send(SetNote(note: String(repeating: "x", count: 70_000)))
    await hasBegun.opened()
    return stage
  }

  @Test func areReportedBeforeThePersistenceHasClosed() async throws {
    let (mayGoOn, order) = (Latch(), Recorder<String>())
    let stage = try await reportingStage(until: mayGoOn) { order.record("reported") }
    let closing = Task {
      try await stage.persistence.close()
      order.record("closed")
    }
    // Until the database is closed, and only the handler is awaited.
    while (try? await PersistenceStage(on: stage.database, form: .model)) == nil {
      await Task.yield()
    }
    mayGoOn.open()
    try await closing.value
    #expect(order.all == ["reported", "closed"])
  }

  @Test func areNotAwaitedForLongerThanClosingMayTake() async throws {
    let mayGoOn = Latch()
    let stage = try await reportingStage(until: mayGoOn) {}
    try await stage.persistence.close(timeout: .milliseconds(10))
    mayGoOn.open()
  }

  @Test func closesTheDatabaseNevertheless() async throws {
    let stage = try await PersistenceStage()
    stage.database.failAtCommit(.inputOutput)
    #expect(await !stage.dispatcher.send(Deposit(account: "a", amount: 1)).result.isSuccess)
    for _ in 1...2 {
      await #expect(throws: PersistenceError.self) { try await stage.persistence.close() }
    }
    // Without a crash: it is not in use.
    let next = try await PersistenceStage(on: stage.database)
    #expect(await next.dispatcher.send(Deposit(account: "a", amount: 1)).result.isSuccess)
  }
}
