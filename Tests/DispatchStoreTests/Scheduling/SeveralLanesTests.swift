import DispatchStoreTesting
import Foundation
import Testing

@testable import DispatchStore

@Suite("Several lanes", .timeLimit(.minutes(10)))
struct SeveralLanesTests {
  /// How a script comes to its lanes.
  enum Form: CaseIterable {
    case dispatched, sent, sequence
  }

  @TaskLocal static var traced = "none"
  static let both = Dispatcher.Mode.serial(lanes: ["a", "b"])
  static let opposite = Dispatcher.Mode.serial(lanes: ["b", "a"])

  let clock = VirtualClock()
  let dispatcher: Dispatcher
  let log = Recorder<String>()

  init() {
    dispatcher = Dispatcher(name: "bank", clock: clock)
    dispatcher.addStage()
  }

  private func notes(_ name: String) -> Script {
    .runs(name) { [log] _ in log.record(name) }
  }

  /// A block that notes that it has begun, and runs until a latch opens.
  private func holds(_ name: String, until free: Latch) -> Script {
    .suspends(name) { [log] _ in
      log.record(name)
      await free.opened()
    }
  }

  /// Begins in a form; the dispatch has its places when this returns.
  private func run(
    _ script: Script, _ form: Form, _ mode: Dispatcher.Mode = both, _ options: DispatchOptions = []
  ) -> Task<DispatchResult, Never> {
    switch form {
    case .dispatched:
      let handle = dispatcher.dispatch(action: script, mode: mode, options: options)
      return Task { await handle.result }
    case .sent:
      return .immediate { await dispatcher.send(script, mode: mode, options: options).result }
    case .sequence:
      let handle = dispatcher.dispatch(
        actions: [script, Script.runs { _ in }], mode: mode, options: options)
      return Task { await handle.result }
    }
  }

  private func hold(_ lane: String, until free: Latch) async -> DispatchHandle {
    let count = log.count
    let handle = dispatcher.dispatch(
      action: holds("holds \(lane)", until: free), mode: .serial(lane: lane))
    _ = await log.first(count + 1)
    return handle
  }

  /// Each lane is free, and removed.
  private func expectIdle() async {
    for mode in [Dispatcher.Mode.serial(lane: "a"), .serial(lane: "b"), Self.opposite] {
      #expect(await dispatcher.dispatch(action: Script.runs { _ in }, mode: mode).result.isSuccess)
    }
    await dispatcher.lanesAreGone()
  }

  /// What the holder of a dispatch's lane waits for at its gate.
  private func gateDescription(before handle: DispatchHandle) -> String? {
    (handle.dispatch?.queuedAt as? Lane)?.order.holder?.gateDescription
  }

  // MARK: Order

  @Test(arguments: Form.allCases, ["a", "b"])
  func startsOnceItIsFirstInEachLane(_ form: Form, busy: String) async {
    let free = Latch()
    let holder = await hold(busy, until: free)
    let task = run(notes("transfer"), form)
    let other = busy == "a" ? "b" : "a"
    // It has its place there, too.
    let behind = dispatcher.dispatch(action: notes("behind"), mode: .serial(lane: other))
    let elsewhere = dispatcher.dispatch(action: notes("elsewhere"), mode: .serial(lane: "c"))
    await elsewhere.ended()
    #expect(!behind.hasEnded)
    free.open()
    #expect(await task.value.isSuccess)
    await behind.ended()
    await holder.ended()
    #expect(log.all == ["holds \(busy)", "elsewhere", "transfer", "behind"])
    await expectIdle()
  }

  @Test(arguments: Form.allCases, [both, opposite])
  func holdsAllLanesUntilItsEnd(_ form: Form, _ mode: Dispatcher.Mode) async {
    let free = Latch()
    let task = run(holds("transfer", until: free), form, mode)
    _ = await log.first(1)
    let behind = ["a", "b"].map {
      dispatcher.dispatch(action: notes($0), mode: .serial(lane: $0))
    }
    let sent = Task.immediate { await dispatcher.send(notes("sent"), mode: .serial(lane: "b")) }
    await dispatcher.dispatch(action: notes("elsewhere"), mode: .serial(lane: "c")).ended()
    #expect(log.all == ["transfer", "elsewhere"])
    free.open()
    #expect(await task.value.isSuccess)
    for handle in behind { await handle.ended() }
    #expect(await sent.value.isSuccess)
    let ran = log.all
    #expect(ran.firstIndex(of: "b")! < ran.firstIndex(of: "sent")!)
    await expectIdle()
  }

  @Test(arguments: Form.allCases)
  func isFirstInFirstOutInEachLane(_ form: Form) async {
    let (freeA, freeB) = (Latch(), Latch())
    let holders = [await hold("a", until: freeA), await hold("b", until: freeB)]
    var tasks: [Task<DispatchResult, Never>] = []
    for number in 1...4 {
      let mode = number % 2 == 0 ? Self.both : Self.opposite
      tasks.append(run(notes("t\(number)"), form, mode))
      tasks.append(run(notes("a\(number)"), form, .serial(lane: "a")))
      tasks.append(run(notes("b\(number)"), form, .serial(lane: "b")))
    }
    freeB.open()
    await dispatcher.dispatch(action: notes("elsewhere"), mode: .serial(lane: "c")).ended()
    freeA.open()
    for task in tasks { #expect(await task.value.isSuccess) }
    for holder in holders { await holder.ended() }
    for lane in ["a", "b"] {
      let ran = log.all.filter { $0.hasPrefix("t") || $0.hasPrefix(lane) }
      #expect(ran == (1...4).flatMap { ["t\($0)", "\(lane)\($0)"] })
    }
    await expectIdle()
  }

  @Test func aSequenceHoldsThemFromFirstToLast() async {
    let (started, free) = (Latch(), Latch())
    let handle = dispatcher.dispatch(
      actions: [
        notes("first"),
        Script.holds(opening: started, until: free), notes("last"),
      ], mode: Self.both)
    await started.opened()
    let behind = dispatcher.dispatch(action: notes("behind"), mode: .serial(lane: "b"))
    free.open()
    await behind.ended()
    #expect(await handle.result.isSuccess)
    #expect(log.all == ["first", "last", "behind"])
    await expectIdle()
  }

  // MARK: Send

  @Test func ifAllAreIdleItRunsInTheCallersTask() async {
    let script = Script.runs { [log] _ in log.record(Self.traced) }
    await Self.$traced.withValue("here") {
      #expect(await dispatcher.send(script, mode: Self.both).isSuccess)
    }
    #expect(log.all == ["here"])
    await expectIdle()
  }

  @Test(arguments: ["a", "b"])
  func ifOneIsBusyItsTaskIsResumedInItsTurn(busy: String) async {
    let free = Latch()
    let holder = await hold(busy, until: free)
    let script = Script.suspends { [log] _ in log.record(Self.traced) }
    let task = Self.$traced.withValue("task") { run(script, .sent) }
    // The idle lane is not kept by a task that could not acquire both, but by its place.
    let other = busy == "a" ? "b" : "a"
    let behind = dispatcher.dispatch(action: notes("behind"), mode: .serial(lane: other))
    free.open()
    #expect(await task.value.isSuccess)
    await behind.ended()
    await holder.ended()
    #expect(log.all.dropFirst() == ["task", "behind"])
    await expectIdle()
  }

  // MARK: Waits

  @Test(arguments: Form.allCases, ["a", "b"])
  func aWaitInsideItForOneOfItsLanesIsRefused(_ form: Form, lane: String) async {
    let results = Recorder<DispatchResult>()
    let inner = notes("inner")
    let script = Script.suspends { [dispatcher] _ in
      results.record(await dispatcher.send(inner, mode: .serial(lane: lane)))
      let handle = dispatcher.dispatch(action: inner, mode: .serial(lane: lane))
      results.record(await handle.result)
    }
    #expect(await run(script, form).value.isSuccess)
    #expect(results.all.map(\.errorCode) == [.wouldDeadlock, .wouldDeadlock])
    for result in results.all { #expect("\(result.error!)".contains("lane \"\(lane)\"")) }
    await expectIdle()
  }

  @Test(arguments: [both, opposite])
  func aWaitInsideItForAnotherInSharedLanesIsRefused(_ mode: Dispatcher.Mode) async {
    let results = Recorder<DispatchResult>()
    let inner = notes("inner")
    let script = Script.suspends { [dispatcher] _ in
      results.record(await dispatcher.send(inner, mode: mode).result)
      results.record(await dispatcher.send(inner, mode: .serial(lanes: ["c", "b"])).result)
    }
    #expect(await run(script, .dispatched).value.isSuccess)
    #expect(results.all.map(\.errorCode) == [.wouldDeadlock, .wouldDeadlock])
    await expectIdle()
  }

  /// The holder of one lane waits for a dispatch that is behind the transfer in the other lane.
  @Test(arguments: Form.allCases)
  func aWaitThroughADispatchThatStillWaitsIsRefused(_ form: Form) async {
    let (started, go) = (Latch(), Latch())
    let behind = Recorder<DispatchHandle>()
    let holder = dispatcher.dispatch(
      action: Script.suspends { [log] _ in
        started.open()
        await go.opened()
        log.record("\(await behind.all[0].result.errorCode.map { "\($0)" } ?? "none")")
      }, mode: .serial(lane: "b"))
    await started.opened()
    let task = run(notes("transfer"), form)
    behind.record(dispatcher.dispatch(action: notes("behind"), mode: .serial(lane: "a")))
    go.open()
    #expect(await holder.result.isSuccess)
    #expect(await task.value.isSuccess)
    await behind.all[0].ended()
    #expect(log.all == ["wouldDeadlock", "transfer", "behind"])
    await expectIdle()
  }

  // MARK: Cancelled, timed out, suspended

  @Test(arguments: ["a", "b"], [false, true])
  func cancellingOneThatWaitsLeavesAllLanes(busy: String, sends: Bool) async {
    let free = Latch()
    let holder = await hold(busy, until: free)
    let task: Task<DispatchResult, Never>
    if sends {
      task = run(notes("transfer"), .sent)
      task.cancel()
    } else {
      let handle = dispatcher.dispatch(action: notes("transfer"), mode: Self.both)
      handle.cancel()
      task = Task { await handle.result }
    }
    #expect(await task.value.error is CancellationError)
    let other = busy == "a" ? "b" : "a"
    await dispatcher.dispatch(action: notes("behind"), mode: .serial(lane: other)).ended()
    free.open()
    await holder.ended()
    #expect(log.all == ["holds \(busy)", "behind"])
    await expectIdle()
  }

  @Test(arguments: Form.allCases, ["a", "b"])
  func aTimeLimitEndsItsWaitAndTheErrorNamesTheLane(_ form: Form, busy: String) async {
    let free = Latch()
    let holder = await hold(busy, until: free)
    let task = run(notes("transfer"), form, Self.both, .timeout(.seconds(1)))
    let other = busy == "a" ? "b" : "a"
    let behind = dispatcher.dispatch(action: notes("behind"), mode: .serial(lane: other))
    if busy == "b" {
      // It has come to its gate in the first lane.
      while gateDescription(before: behind) == nil { await Task.yield() }
    }
    await clock.pass(.seconds(1))
    let error = await task.value.dispatchError
    #expect(error?.code == .timedOut)
    if busy == "b" {
      #expect(error.map { "\($0)".contains("its turn in lane \"b\", held by") } == true)
    }
    await behind.ended()
    free.open()
    await holder.ended()
    await expectIdle()
  }

  @Test(arguments: [false, true])
  func afterADeadlineTheLanesAreHeldUntilTheBlockHasEnded(sends: Bool) async {
    let free = Latch()
    let task = run(
      holds("transfer", until: free), sends ? .sent : .dispatched, Self.both, .timeout(.seconds(1)))
    _ = await log.first(1)
    await clock.pass(.seconds(1))
    if !sends { #expect(await task.value.dispatchError?.code == .timedOut) }
    let behind = dispatcher.dispatch(action: notes("behind"), mode: .serial(lane: "b"))
    await dispatcher.dispatch(action: notes("elsewhere"), mode: .serial(lane: "c")).ended()
    #expect(!behind.hasEnded)
    free.open()
    await behind.ended()
    #expect(await task.value.dispatchError?.code == .timedOut)
    await expectIdle()
  }

  @Test(arguments: Form.allCases)
  func doesNotStartWhileTheQueueIsSuspended(_ form: Form) async {
    dispatcher.queue.isSuspended = true
    let task = run(notes("transfer"), form)
    let cancelled = dispatcher.dispatch(action: notes("cancelled"), mode: Self.opposite)
    cancelled.cancel()
    #expect(await cancelled.result.error is CancellationError)
    #expect(log.all.isEmpty)
    dispatcher.queue.isSuspended = false
    #expect(await task.value.isSuccess)
    #expect(log.all == ["transfer"])
    await expectIdle()
  }

  // MARK: With options

  @Test(arguments: Form.allCases)
  func keepsItsPlacesWhileItWaitsForAnother(_ form: Form) async {
    let free = Latch()
    let other = await hold("c", until: free)
    let task = run(notes("transfer"), form, Self.both, .after(other))
    let behind = ["a", "b"].map {
      dispatcher.dispatch(action: notes($0), mode: .serial(lane: $0))
    }
    await dispatcher.dispatch(action: notes("elsewhere"), mode: .serial(lane: "d")).ended()
    #expect(log.all == ["holds c", "elsewhere"])
    free.open()
    #expect(await task.value.isSuccess)
    for handle in behind { await handle.ended() }
    #expect(log.all[2] == "transfer")
    await expectIdle()
  }

  @Test(arguments: Form.allCases)
  func passesItsGateOnceItIsFirstInEachLane(_ form: Form) async {
    let stage = dispatcher.addStage("level")
    let (freeKey, freeLane) = (Latch(), Latch())
    let key = dispatcher.dispatch(
      action: holds("key", until: freeKey), options: .exclusive("key"))
    _ = await log.first(1)
    let lane = await hold("b", until: freeLane)
    let options: DispatchOptions = [.exclusive("key"), .when(stage) { !$0.isEmpty }]
    let script = notes("transfer")
    let task = run(script, form, Self.both, options)
    freeLane.open()
    await lane.ended()
    freeKey.open()
    await key.ended()
    // A dispatch that needs the key only: the transfer does not have it before its condition holds.
    await dispatcher.dispatch(action: notes("other"), options: .exclusive("key")).ended()
    #expect(!log.all.contains("transfer"))
    stage.updateModel { $0.append("high") }
    #expect(await task.value.isSuccess)
    await expectIdle()
  }

  @Test(arguments: Form.allCases)
  func inLanesWithPrioritiesItOvertakesNothingThatCameBefore(_ form: Form) async {
    for lane in ["a", "b"] { dispatcher.usePriorities(in: .serial(lane: lane)) }
    let (freeA, freeB) = (Latch(), Latch())
    let holders = [await hold("a", until: freeA), await hold("b", until: freeB)]
    let low = dispatcher.dispatch(
      action: notes("low"), mode: .serial(lane: "a"), options: .priority(.low))
    let first = run(notes("first"), form, Self.both, .priority(.low))
    let second = run(notes("second"), form, Self.opposite, .priority(.high))
    let urgent = dispatcher.dispatch(
      action: notes("urgent"), mode: .serial(lane: "b"), options: .priority(.veryHigh))
    freeB.open()
    await urgent.ended()
    freeA.open()
    for task in [first, second] { #expect(await task.value.isSuccess) }
    for handle in holders + [low] { await handle.ended() }
    #expect(log.all == ["holds a", "holds b", "urgent", "low", "first", "second"])
    await expectIdle()
  }

  @Test func isCountedInTheBoundOfEachLane() async {
    let bounded = Dispatcher(limits: DispatchLimits(perLane: 1))
    bounded.addStage()
    let free = Latch()
    let handle = bounded.dispatch(action: holds("transfer", until: free), mode: Self.both)
    _ = await log.first(1)
    for lane in ["a", "b"] {
      let result = await bounded.dispatch(action: notes(lane), mode: .serial(lane: lane)).result
      #expect(result.errorCode == .limitExceeded)
    }
    free.open()
    await handle.ended()
  }

  @Test func joinsSkipsAndCancelsAsInOneLane() async {
    let free = Latch()
    let first = dispatcher.dispatch(
      action: holds("first", until: free), mode: Self.both,
      options: [.idempotencyKey("key", remembered: .zero), .skippedIfInFlight("one")])
    _ = await log.first(1)
    let joined = dispatcher.dispatch(
      action: notes("joined"), mode: Self.opposite,
      options: .idempotencyKey("key", remembered: .zero))
    let skipped = dispatcher.dispatch(
      action: notes("skipped"), mode: Self.both, options: .skippedIfInFlight("one"))
    #expect(await skipped.result.errorCode == .skipped)
    let older = dispatcher.dispatch(
      action: notes("older"), mode: Self.both, options: .cancelsPrevious("latest"))
    let newer = dispatcher.dispatch(
      action: notes("newer"), mode: Self.opposite, options: .cancelsPrevious("latest"))
    #expect(await older.result.error is CancellationError)
    free.open()
    for handle in [first, joined, newer] { #expect(await handle.result.isSuccess) }
    #expect(log.all == ["first", "newer"])
    await expectIdle()
  }

  @Test func aDrainWaitsForIt() async {
    let free = Latch()
    let holder = await hold("b", until: free)
    let task = run(notes("transfer"), .dispatched)
    let drained = Task { [dispatcher, log] in
      _ = await dispatcher.drain()
      log.record("drained")
    }
    free.open()
    await drained.value
    #expect(log.all == ["holds b", "transfer", "drained"])
    #expect(await task.value.isSuccess)
    await holder.ended()
  }

  @Test func madeInAnExclusiveSectionItIsAcceptedAtItsEnd() async {
    let stage = dispatcher.addStage("section")
    let handles = Recorder<DispatchHandle>()
    let script = notes("transfer")
    stage.updateModel { [dispatcher] _ in
      handles.record(
        dispatcher.dispatch(storeIdentifier: "stage", action: script, mode: Self.both))
    }
    #expect(await handles.all[0].result.isSuccess)
    await expectIdle()
  }

  // MARK: Diagnosis

  @Test func aDiagnosisNamesEachLaneAndItsHolder() async {
    dispatcher.tracksInFlight = true
    let (freeA, freeB) = (Latch(), Latch())
    let holders = [await hold("a", until: freeA), await hold("b", until: freeB)]
    let transfer = dispatcher.dispatch(action: notes("transfer"), mode: Self.both)
    let behind = dispatcher.dispatch(action: notes("behind"), mode: .serial(lane: "b"))
    let diagnosis = dispatcher.diagnosis()
    let entry = diagnosis.entries.first { $0.id == transfer.dispatchID }
    let text = entry?.states.joined(separator: "\n") ?? ""
    for lane in ["a", "b"] { #expect(text.contains("its turn in lane \"\(lane)\""), "\(text)") }
    func number(_ handle: DispatchHandle) -> Int? {
      diagnosis.entries.first { $0.id == handle.dispatchID }?.number
    }
    for holder in holders {
      #expect(diagnosis.edges.contains { $0.from == number(transfer) && $0.to == number(holder) })
    }
    #expect(diagnosis.edges.contains { $0.from == number(behind) && $0.to == number(transfer) })
    #expect(diagnosis.entries.count == 4 && diagnosis.cycles.isEmpty)
    freeA.open()
    freeB.open()
    await behind.ended()
    for holder in holders { await holder.ended() }
  }

  // MARK: Memory

  @Test(arguments: Form.allCases)
  func nothingIsKeptOfWhatHasEnded(_ form: Form) async {
    let released = EventCount(of: 1)
    do {
      let mortal = Mortal(released)
      let free = Latch()
      let holder = await hold("b", until: free)
      let task = run(
        .runs { _ in withExtendedLifetime(mortal) {} }, form)
      free.open()
      #expect(await task.value.isSuccess)
      await holder.ended()
    }
    await released.full()
    await expectIdle()
  }

  @Test func aReleasedDispatcherLivesUntilItsEnd() async {
    let (free, ran) = (Latch(), Recorder<String>())
    let handles = { () -> [DispatchHandle] in
      let dispatcher = Dispatcher()
      dispatcher.addStage()
      return [
        dispatcher.dispatch(
          action: Script.suspends { _ in await free.opened() }, mode: .serial(lane: "b")),
        dispatcher.dispatch(action: Script.runs { _ in ran.record("transfer") }, mode: Self.both),
        dispatcher.dispatch(
          action: Script.runs { _ in ran.record("behind") }, mode: .serial(lane: "b")),
      ]
    }()
    free.open()
    for handle in handles { #expect(await handle.result.isSuccess) }
    #expect(ran.all == ["transfer", "behind"])
  }

  // MARK: Load

  /// Transfers between accounts, in each direction and form, with deposits to single ones in between.
  @Test func underLoadMoneyIsConservedAndEachAccountsOrderIsKept() async {
    let (accountCount, producerCount, count) = (5, 6, Load.count(400, long: 10_000))
    let bank = Bank(accountCount)
    let dispatcher = Dispatcher(name: "load")
    dispatcher.addStage()
    await withTaskGroup { group in
      for producer in 0..<producerCount {
        group.addTask {
          var random = SeededGenerator(seed: UInt64(producer))
          await withTaskGroup { ends in
            for number in 0..<count {
              let from = Int.random(in: 0..<accountCount, using: &random)
              let to =
                (from + 1 + Int.random(in: 0..<(accountCount - 1), using: &random)) % accountCount
              let draw = Int.random(in: 0..<8, using: &random)
              let third = (0..<accountCount).first { $0 != from && $0 != to }!
              let accounts = draw < 5 ? [from, to] : draw < 7 ? [from] : [from, to, third]
              let entry = Bank.Entry(producer: producer, number: number, accounts: accounts)
              let mode = Dispatcher.Mode.serial(lanes: accounts)
              let script: Script =
                draw % 3 == 0
                ? .suspends { _ in
                  bank.begin(entry)
                  await Task.yield()
                  bank.end(entry)
                }
                : .runs { _ in
                  bank.begin(entry)
                  bank.end(entry)
                }
              if draw % 2 == 0 {
                ends.addImmediateTask { _ = await dispatcher.send(script, mode: mode) }
              } else {
                let handle = dispatcher.dispatch(action: script, mode: mode)
                ends.addTask { await handle.ended() }
              }
            }
          }
        }
      }
    }
    #expect(bank.faults == [])
    #expect(bank.total == accountCount * 1_000)
    #expect(bank.entryCount == producerCount * count)
    await dispatcher.lanesAreGone()
  }

  /// Some are cancelled or time out while they wait, in lanes that retire and come back all the time.
  @Test func underLoadWhatIsCancelledLeavesItsLanes() async {
    let (count, producerCount) = (Load.count(600, long: 10_000), 6)
    let dispatcher = Dispatcher(name: "load")
    dispatcher.addStage()
    let bank = Bank(4)
    await onOwnThreads(producerCount) { producer in
      var random = SeededGenerator(seed: UInt64(producer + 100))
      var handles: [DispatchHandle] = []
      for number in 0..<count {
        let (from, step) = (
          Int.random(in: 0..<4, using: &random), 1 + Int.random(in: 0..<3, using: &random)
        )
        let entry = Bank.Entry(
          producer: producer, number: number, accounts: [from, (from + step) % 4])
        let handle = dispatcher.dispatch(
          action: Script.runs { _ in
            bank.begin(entry)
            bank.end(entry)
          }, mode: .serial(lanes: entry.accounts),
          options: Int.random(in: 0..<5, using: &random) == 0 ? .timeout(.microseconds(50)) : [])
        if Int.random(in: 0..<4, using: &random) == 0 { handle.cancel() }
        handles.append(handle)
        if Int.random(in: 0..<10, using: &random) == 0 {
          _ = handles.removeLast().wait(for: .seconds(60))
        }
      }
      for handle in handles { _ = handle.wait(for: .seconds(60)) }
    }
    #expect(bank.faults == [])
    #expect(bank.total == 4_000)
    await dispatcher.lanesAreGone()
  }
}

/// Accounts that notice if two entries of one overlap, or come out of their producer's order.
private final class Bank: Sendable {
  struct Entry {
    let producer: Int
    let number: Int
    let accounts: [Int]
  }

  private struct State {
    var balances: [Int]
    var busy: Set<Int> = []
    var last: [[Int]: Int] = [:]
    var faults: [String] = []
    var entryCount = 0
  }

  private let state: Locked<State>

  init(_ count: Int) {
    state = Locked(State(balances: Array(repeating: 1_000, count: count)))
  }

  var faults: [String] { state.withLock(\.faults) }
  var total: Int { state.withLock { $0.balances.reduce(0, +) } }
  var entryCount: Int { state.withLock(\.entryCount) }

  func begin(_ entry: Entry) {
    state.withLock { state in
      state.entryCount += 1
      for account in entry.accounts {
        if !state.busy.insert(account).inserted {
          state.faults.append("\(entry) overlaps in \(account)")
        }
        let key = [entry.producer, account]
        if let last = state.last[key], last > entry.number {
          state.faults.append("\(entry) came after \(last)")
        }
        state.last[key] = entry.number
      }
      if entry.accounts.count > 1 { state.balances[entry.accounts[0]] -= 1 }
    }
  }

  func end(_ entry: Entry) {
    state.withLock { state in
      if entry.accounts.count > 1 { state.balances[entry.accounts[1]] += 1 }
      state.busy.subtract(entry.accounts)
    }
  }
}
