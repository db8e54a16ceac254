import DispatchStoreTesting
import Foundation
import Testing

@testable import DispatchStore

struct Card: Equatable, Sendable, Codable { var number: String }

struct Customer: Equatable, Sendable, Codable {
  var name = ""
  var secret = ""
  var card = Card(number: "")
}

struct Ledger: ModelType, Equatable {
  var customers = TrackedDictionary<String, Customer>()
  var total = 0

  static func == (one: Ledger, other: Ledger) -> Bool {
    one.customers.dictionary == other.customers.dictionary && one.total == other.total
  }
}

struct Book: CodableAction {
  var customer: String
  var amount: Int
}

struct Join: CodableAction {
  var id: String
  var customer: Customer
}

struct Nested: ActionType { let amounts: [Int] }
struct Fails: ActionType { struct Error: Swift.Error {} }
private struct Busy: ActionType {}
private struct Fill: ActionType { let number: Int }
private struct Count: ActionType {}
private struct Wide: Sendable { var numbers: [Int] = [], count = 0 }
private struct Measure: CodableAction { let value: Double }
private struct Deepen: ActionType { let count: Int }

private indirect enum Deep: Sendable {
  case end
  case level(Deep)
}

private final class Holder: Sendable, Codable, CustomStringConvertible {
  let card: Card
  init(_ card: Card) { self.card = card }
  var description: String { "Holder of \(card.number)" }
}

/// Has a card wherever one can be.
private struct Purse: Sendable, Codable {
  var set: Set<Number> = []
  var byNumber: [Number: Int] = [:]
  var hidden = TrackedDictionary<String, String>()
  var range: ClosedRange<Number>?
  var holder: Holder?
}

/// Has named dictionaries that are reached by a computed property, and in an optional.
private struct Safe: Sendable {
  struct Box: Sendable { var notes = TrackedDictionary<String, String>() }

  var codes = TrackedDictionary<String, String>()
  var box: Box? = Box()

  var newCodes: TrackedDictionary<String, String> {
    get { codes }
    set { codes = newValue }
  }
}

private struct Hide: ActionType { let secret: String }

private struct Number: Hashable, Comparable, Codable {
  var digits: String
  static func < (one: Number, other: Number) -> Bool { one.digits < other.digits }
}

private struct Pay: CodableAction {
  var holder: Holder
  var secret: String

  init(_ secret: String) {
    (self.secret, holder) = (secret, Holder(Card(number: secret)))
  }
}

typealias LedgerStore = Store<Ledger, HandledAction>

extension Dispatcher {
  @discardableResult
  func registerLedger(_ identifier: String = "ledger") -> LedgerStore {
    register(
      store: Store(identifier: identifier, model: Ledger()) {
        On(Book.self) { ledger, book in
          ledger.customers[book.customer, default: Customer()].name += "+"
          ledger.total += book.amount
        }
        On(Join.self) { ledger, join in ledger.customers[join.id] = join.customer }
        Perform(Nested.self) { nested, context in
          for amount in nested.amounts {
            context.dispatcher.dispatch(Book(customer: "n", amount: amount), mode: .sync)
          }
        }
        On(withoutReply: Fails.self) { ledger, _ in
          ledger.total = -1
          throw Fails.Error()
        }
      }.undoesInPlace(\.customers))
  }
}

/// A dispatcher, and a recorder that follows it.
func makeRecorded(
  _ recorder: DispatchRecorder = DispatchRecorder(), by dispatcher: Dispatcher = Dispatcher()
) -> (Dispatcher, DispatchRecorder) {
  dispatcher.register(middleware: recorder)
  return (dispatcher, recorder)
}

@Suite("Recorders", .timeLimit(.minutes(10)))
struct DispatchRecorderTests {
  private func make(
    _ recorder: DispatchRecorder = DispatchRecorder()
  ) -> (Dispatcher, LedgerStore, DispatchRecorder) {
    let dispatcher = Dispatcher(name: "bank")
    dispatcher.register(middleware: recorder)
    return (dispatcher, dispatcher.registerLedger(), recorder)
  }

  @Test(arguments: Way.all)
  func noteEachDispatchWithItsStoresAndTheDifferencesOfTheirModels(way: Way) async throws {
    let (dispatcher, _, recorder) = make()
    await dispatcher.run(Book(customer: "ann", amount: 5), way)
    let entry = try #require(recorder.log.entries.first)
    #expect(recorder.log.dispatcher == "bank" && recorder.log.entries.count == 1)
    #expect(entry.kind == .action && entry.parent == nil && entry.error == nil)
    #expect(entry.actions.map(\.type) == ["Book"])
    #expect(entry.actions.map(\.text) == [#"Book(customer: "ann", amount: 5)"#])
    #expect(entry.callSite.hasPrefix("DispatchStoreTests/Way.swift:"))
    let run = try #require(entry.stores.first)
    #expect(run.store == "ledger" && run.outcome == .finished)
    #expect(run.oldVersion == 0 && run.newVersion == 1 && run.omittedCount == 0)
    #expect(
      run.differences.map { "\($0.path) \($0.old ?? "-") \($0.new ?? "-")" } == [
        "total 0 5",
        #"customers["ann"] - Customer(name: "+", secret: "", card: Card(number: ""))"#,
      ])
  }

  @Test func compareOnlyTheElementsThatACommitHasTouched() async {
    let (dispatcher, store, recorder) = make()
    store.updateModel { ledger in
      for number in 0..<1_000 { ledger.customers["\(number)"] = Customer(name: "x") }
    }
    for _ in 0..<2 { dispatcher.dispatch(Book(customer: "7", amount: 0), mode: .sync) }
    let run = recorder.log.entries.last?.stores.first
    #expect(run?.differences.map(\.path) == [#"customers["7"].name"#])
    #expect(run?.differences.map(\.new) == [#""x++""#])
  }

  @Test func noteParentsOutcomesAndErrors() async throws {
    let (dispatcher, store, recorder) = make()
    await dispatcher.send(Nested(amounts: [1, 2]))
    await dispatcher.send(Fails())
    let hook = dispatcher.register(.before(Book.self) { _, _ in .veto(reason: "closed") })
    await dispatcher.send(Book(customer: "x", amount: 1))
    dispatcher.unregister(middleware: hook)
    let entries = recorder.log.entries
    let nested = try #require(entries.first { $0.actions.first?.type == "Nested" })
    let children = entries.filter { $0.parent == nested.id }
    #expect(
      children.map { $0.actions.first?.text }
        == [1, 2].map {
          "Book(customer: \"n\", amount: \($0))"
        })
    #expect(recorder.log.tree(of: nested.id!).entries.count == 3)
    #expect(entries[3].stores.first?.outcome == .failed)
    #expect(entries[3].stores.first?.differences.map(\.path) == ["total"])
    #expect(entries[3].error?.contains("Error") == true)
    let vetoed = try #require(entries[4].stores.first)
    #expect(vetoed.outcome == .vetoed && vetoed.detail?.contains("closed") == true)
    #expect(vetoed.oldVersion == 3 && vetoed.newVersion == 3 && store.version == 3)
  }

  private func entry(
    _ id: DispatchID, in recorder: DispatchRecorder
  ) async -> DispatchLog.Entry {
    while true {
      let entry = recorder.log.entries.first { $0.id == id.number }
      if let entry { return entry }
      await Task.yield()
    }
  }

  @Test(arguments: Dispatcher.Mode.everyMode, [false, true])
  func sayOfADispatchWhoseLimitPassesThatItHasTimedOut(
    _ mode: Dispatcher.Mode, heedsIt: Bool
  ) async throws {
    let (clock, dispatcher, _) = makeClockedStage()
    let (_, recorder) = makeRecorded(by: dispatcher)
    let (began, free) = (Latch(), Latch())
    let script = Script.suspends { _ in
      began.open()
      if !heedsIt { return await free.opened() }
      await free.openedOrCancelled()
      try Task.checkCancellation()
    }
    let task = dispatcher.begin(script, mode, .timeout(.seconds(1)))
    await began.opened()
    await clock.pass(.seconds(1))
    if !heedsIt { free.open() }
    let result = await task.value
    #expect(result.errorCode == .timedOut)
    let entry = await entry(result.dispatchID, in: recorder)
    #expect(entry.outcome == .timedOut)
    let log = try DispatchLog(jsonLines: recorder.log.jsonLines())
    #expect(log.entries == [entry])
  }

  @Test(arguments: Dispatcher.Mode.laneModes)
  func sayOfADispatchThatNeverRanHowItEnded(_ mode: Dispatcher.Mode) async {
    let (clock, dispatcher, _) = makeClockedStage()
    let (_, recorder) = makeRecorded(by: dispatcher)
    let (began, free) = (Latch(), Latch())
    let holder = dispatcher.dispatch(
      action: Script.holds(opening: began, until: free), mode: mode)
    await began.opened()
    let late = dispatcher.dispatch(
      action: Script.adds("x"), mode: mode, options: .timeout(.seconds(1)))
    let cancelled = dispatcher.dispatch(action: Script.adds("y"), mode: mode)
    cancelled.cancel()
    await clock.pass(.seconds(1))
    #expect(await entry(late.dispatchID, in: recorder).outcome == .timedOut)
    #expect(await entry(cancelled.dispatchID, in: recorder).outcome == .cancelled)
    free.open()
    #expect(await entry(holder.dispatchID, in: recorder).outcome == nil)
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func sayOfAListThatItWasCancelled(_ mode: Dispatcher.Mode) async {
    let (dispatcher, _) = makeStage()
    let (_, recorder) = makeRecorded(by: dispatcher)
    let began = Latch()
    let list = dispatcher.dispatch(
      actions: [Script.endless(opening: began), Script.adds("x")], mode: mode)
    await began.opened()
    list.cancel()
    let entry = await entry(list.dispatchID, in: recorder)
    #expect(entry.kind == .sequence && entry.outcome == .cancelled)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func noteWhetherABlockHasMadeADispatch(_ mode: Dispatcher.Mode) async throws {
    let (dispatcher, _, recorder) = make()
    dispatcher.addStage()
    dispatcher.register(
      .after(Nested.self) { _, run in
        _ = run.dispatch.dispatcher.dispatch(Book(customer: "in a hook", amount: 1), mode: .sync)
      })
    let completion: @Sendable () -> Void = {
      _ = dispatcher.dispatch(Book(customer: "in a completion", amount: 1), mode: .sync)
    }
    await dispatcher.dispatch(action: Nested(amounts: [1]), mode: mode, then: completion).ended()
    let busy = Script.suspends { _ in
      await dispatcher.send(Book(customer: "in a task", amount: 1), mode: .async)
    }
    await dispatcher.dispatch(action: busy, mode: .async).ended()
    let log = try DispatchLog(jsonLines: recorder.log.jsonLines())
    let made = log.entries.filter { $0.parent != nil }
    let outside = made.filter(\.isOutsideBlocks).map { $0.actions[0].text }
    #expect(made.count == 4)
    #expect(
      outside == ["in a hook", "in a completion"].map { "Book(customer: \"\($0)\", amount: 1)" })
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func noteThatTheHookOfAListHasMadeADispatch(_ mode: Dispatcher.Mode) async {
    let (dispatcher, _, recorder) = make()
    dispatcher.register(
      middleware: ListHook { list in
        list.dispatcher.dispatch(action: Book(customer: "in a hook", amount: 1), mode: .sync)
      })
    dispatcher.addStage()
    let script = Script.suspends { _ in
      let books = [Book(customer: "a", amount: 1)]
      await dispatcher.dispatch(actions: books, mode: .async).ended()
    }
    let busy = await onOwnThread { dispatcher.dispatch(action: script, mode: mode) }
    await busy.ended()
    let entries = recorder.log.entries
    let list = entries.first { $0.kind == .sequence }
    #expect(list?.parent == busy.dispatchID.number && list?.isOutsideBlocks == false)
    let made = entries.first { $0.actions.first?.text.contains("in a hook") == true }
    #expect(made?.parent == list?.id && made?.isOutsideBlocks == true)
  }

  @Test func noteASequenceWithItsActionsAsChildren() async {
    let (dispatcher, _, recorder) = make()
    let actions = [1, 2].map { Book(customer: "a", amount: $0) }
    await dispatcher.dispatch(actions: actions, mode: .serial).ended()
    let entries = recorder.log.entries
    #expect(entries.map(\.kind) == [.action, .action, .sequence])
    #expect(entries.dropLast().allSatisfy { $0.parent == entries[2].id && !$0.isOutsideBlocks })
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func noteAChangeThatABlockOfAnotherDispatcherMakes(_ mode: Dispatcher.Mode) async {
    let (dispatcher, store, recorder) = make()
    await dispatcher.send(Book(customer: "a", amount: 1))
    let (other, _) = makeStage(Dispatcher(name: "other"))
    let busy = Script.suspends { _ in store.updateModel { $0.total = 7 } }
    await other.dispatch(action: busy, mode: mode).ended()
    let entries = recorder.log.entries
    #expect(entries.count == 2)
    #expect(entries.last?.kind == .change && entries.last?.id == nil)
    #expect(entries.last?.stores.first?.differences.first?.new == "7")
  }

  @Test func noteAStoreThatIsRegisteredLater() async {
    let (dispatcher, _, recorder) = make()
    await dispatcher.send(Book(customer: "a", amount: 1))
    dispatcher.registerLedger("other")
    await dispatcher.send(Book(customer: "a", amount: 1))
    let runs = recorder.log.entries.last?.stores ?? []
    #expect(runs.map(\.store) == ["ledger", "other"])
    #expect(runs.map(\.newVersion) == [2, 1])
  }

  @Test(arguments: [nil, 1_000_000] as [Int?])
  func addNoDispatchThatWasUnderWayWhenTheyWereUnregistered(byteLimit: Int?) async {
    let (dispatcher, _, recorder) = make(DispatchRecorder(byteLimit: byteLimit))
    let (entered, goOn) = (Latch(), Latch())
    let store = dispatcher.register(
      store: Store(identifier: "busy", model: 0) {
        Perform(Busy.self) { _, context in
          entered.open()
          await goOn.opened()
          try context.updateModel { $0 += 1 }
        }
      })
    await dispatcher.send(Book(customer: "a", amount: 1))
    let busy = dispatcher.dispatch(Busy())
    await entered.opened()
    dispatcher.unregister(middleware: recorder)
    let entries = recorder.log.entries
    goOn.open()
    await busy.ended()
    #expect(store.model == 1 && entries.count == 1 && recorder.log.entries == entries)
  }

  @Test(arguments: Way.all, [10, 18])
  func keepTheirEntriesOnceTheyAreUnregistered(way: Way, count: Int) async {
    let (dispatcher, store, recorder) = make(DispatchRecorder(limit: 16))
    func book() async {
      await dispatcher.run(Book(customer: "a", amount: 1), way)
    }
    for _ in 0..<count { await book() }
    let entries = recorder.log.entries
    dispatcher.unregister(middleware: recorder)
    for _ in 0..<100 {
      await book()
      store.updateModel { $0.total += 1 }
    }
    #expect(entries.count == count && recorder.log.entries == entries)
    #expect(recorder.log.droppedCount == 0)
    dispatcher.register(middleware: recorder)
    await book()
    store.updateModel { $0.total += 1 }
    #expect(recorder.log.entries.suffix(2).map(\.kind) == [.action, .change])
  }

  @Test(arguments: Way.all)
  func noteEachCommitOfARetriedStoreInTheRunThatMadeIt(way: Way) async throws {
    let (dispatcher, recorder) = makeRecorded()
    dispatcher.register(
      store: Store(identifier: "unsteady", model: 0) {
        Perform(Fails.self) { _, context in
          try context.updateModel { $0 += 1 }
          if try context.model == 1 { throw Fails.Error() }
        }
      })
    await dispatcher.run(Fails(), way, options: .retry(attempts: 2))
    let runs = try #require(recorder.log.entries.last?.stores)
    #expect(runs.map(\.outcome) == [.failed, .finished])
    #expect(runs.map(\.oldVersion) == [0, 1] && runs.map(\.newVersion) == [1, 2])
    #expect(runs.map { $0.differences.map(\.new) } == [["1"], ["2"]])
  }

  @Test(arguments: Way.all)
  func noteWhenEachAttemptHasStarted(way: Way) async throws {
    let clock = VirtualClock()
    let (dispatcher, recorder) = makeRecorded(by: Dispatcher(clock: clock))
    let starts = Recorder<Int>()
    dispatcher.register(
      store: Store(identifier: "unsteady", model: 0) {
        On(withoutReply: Fails.self) { _, _ in
          starts.record(1)
          throw Fails.Error()
        }
      })
    let options = DispatchOptions.retry(attempts: 3, backoff: .constant(.seconds(1)))
    let task = dispatcher.begin(action: Fails(), way.mode, options, sends: way.sends)
    for number in 1...2 {
      _ = await starts.first(number)
      await clock.pass(.seconds(1))
    }
    _ = await task.value
    let runs = try #require(recorder.log.entries.last?.stores)
    #expect(runs.map(\.timeQueued) == [.zero, .seconds(1), .seconds(2)])
  }

  @Test(arguments: Dispatcher.Mode.laneModes)
  func noteThatABlockHasChangedAnotherStoreWhileItRan(_ mode: Dispatcher.Mode) async {
    let clock = VirtualClock()
    let (dispatcher, recorder) = makeRecorded(by: Dispatcher(clock: clock))
    let ledger = dispatcher.registerLedger()
    let starts = Recorder<Int>()
    dispatcher.addStage()
    let busy = Script.suspends { _ in
      ledger.updateModel { $0.total += 1 }
      starts.record(1)
      try await clock.sleep(for: .seconds(1))
    }
    let handles = (1...2).map { _ in dispatcher.dispatch(action: busy, mode: mode) }
    for number in 1...2 {
      _ = await starts.first(number)
      await clock.pass(.seconds(1))
    }
    for handle in handles { await handle.ended() }
    let runs = recorder.log.entries.compactMap { entry in
      entry.stores.first { $0.store == "ledger" && !$0.tookPart }
    }
    #expect(runs.map(\.timeQueued) == [.zero, .seconds(1)])
    #expect(runs.map(\.duration) == [.seconds(1), .seconds(1)])
  }

  @Test func countFromAWholeMillisecond() async throws {
    let clock = VirtualClock(date: Date(timeIntervalSince1970: 1_000.123_9))
    let (dispatcher, recorder) = makeRecorded(by: Dispatcher(clock: clock))
    dispatcher.registerLedger()
    await dispatcher.send(Book(customer: "a", amount: 1))
    let log = recorder.log
    #expect(log.origin == Date(timeIntervalSince1970: 1_000.123))
    let began = try #require(log.entries.first?.began)
    // A date has about 100 ns.
    #expect((.nanoseconds(899_500)...Duration.nanoseconds(900_500)).contains(began))
  }

  @Test func canBeFilteredByStoreLaneActionAndTime() async {
    let (dispatcher, _, recorder) = make()
    dispatcher.registerLedger("other")
    await dispatcher.send(Book(customer: "a", amount: 1), mode: .serial(lane: "a"))
    await dispatcher.send(Book(customer: "b", amount: 1), to: "other", mode: .serial(lane: "b"))
    await dispatcher.send(Join(id: "c", customer: Customer()), to: "ledger")
    let log = recorder.log
    #expect(log.filtered(store: "other").entries.count == 2)
    #expect(log.filtered(lane: "b").entries.map(\.lane) == ["b"])
    #expect(log.filtered(action: "Join").entries.count == 1)
    #expect(log.filtered(store: "other", lane: "a").entries.count == 1)
    #expect(log.filtered(within: .zero..<log.entries[1].began).entries.count == 1)
  }

  @Test func keepEachLaneOfADispatchInSeveral() async throws {
    let (dispatcher, _, recorder) = make()
    await dispatcher.send(Book(customer: "a", amount: 1), mode: .serial(lane: "ann"))
    await dispatcher.send(Book(customer: "b", amount: 1), mode: .serial(lanes: ["ann", "bob"]))
    await dispatcher.send(Book(customer: "c", amount: 1), mode: .async)
    let log = try DispatchLog(jsonLines: recorder.log.jsonLines())
    #expect(log.entries == recorder.log.entries)
    #expect(log.entries.map(\.lanes) == [["ann"], ["ann", "bob"], []])
    #expect(log.entries.map(\.lane) == ["ann", "ann, bob", nil])
    #expect(log.filtered(lane: "ann").entries.count == 2)
    #expect(log.filtered(lane: "bob").entries.count == 1)
    #expect(log.filtered(lane: log.entries[1].lane).entries == [log.entries[1]])
    // Earlier versions wrote one text only.
    let text = String(decoding: try log.jsonLines(), as: UTF8.self)
    let former = text.replacing(#","lanes":["ann","bob"]"#, with: "")
    #expect(former != text)
    #expect(try DispatchLog(jsonLines: Data(former.utf8)).entries[1].lanes == ["ann, bob"])
  }

  @Test func nameTheElementsOfADictionaryThatTheStoreDoesNotName() async throws {
    let (dispatcher, recorder) = makeRecorded()
    dispatcher.register(
      store: Store(identifier: "plain", model: Ledger()) {
        On(Join.self) { ledger, join in ledger.customers[join.id] = join.customer }
      })
    await dispatcher.send(Join(id: "ann", customer: Customer(name: "Ann")))
    await dispatcher.send(Join(id: "bob", customer: Customer(name: "Bob")))
    await dispatcher.send(Join(id: "ann", customer: Customer(name: "Anna")))
    let paths = recorder.log.entries.flatMap(\.stores).flatMap(\.differences).map(\.path)
    #expect(
      paths == [#"customers["ann"]"#, #"customers["bob"]"#, #"customers["ann"].name"#])
  }

  @Test func keepAtMostTheirLimitOfCommitsOfADispatchUnderWay() async throws {
    let (dispatcher, _, recorder) = make(DispatchRecorder(limit: 16))
    let (done, goOn) = (Latch(), Latch())
    dispatcher.register(
      store: Store(identifier: "busy", model: 0) {
        Perform(Busy.self) { _, context in
          for number in 1...1_000 { try context.updateModel { $0 = number } }
          done.open()
          await goOn.opened()
        }
      })
    let handle = dispatcher.dispatch(Busy())
    await done.opened()
    #expect(recorder.core.state.withLock(\.commits.count) <= 18)
    goOn.open()
    await handle.ended()
    let run = try #require(recorder.log.entries.last?.stores.first)
    #expect(run.differences.count + run.omittedCount == 1_000 && run.newVersion == 1_000)
  }

  /// Whatever the number of small commits whose places large ones take.
  @Test(arguments: [(10_000, 0), (20, 30), (20, 200)])
  func keepAtMostTheirBytesOfADispatchUnderWay(limit: Int, smallCount: Int) async throws {
    let (dispatcher, _, recorder) = make(DispatchRecorder(limit: limit, byteLimit: 100_000))
    let count = smallCount + 1_000
    let (done, goOn) = (Latch(), Latch())
    dispatcher.register(
      store: Store(identifier: "busy", model: Data()) {
        Perform(Busy.self) { _, context in
          for number in 1...count {
            let size = number > smallCount ? 10_000 : 1
            try context.updateModel { $0 = Data(repeating: UInt8(number % 256), count: size) }
          }
          done.open()
          await goOn.opened()
        }
      })
    let handle = dispatcher.dispatch(Busy())
    await done.opened()
    #expect(recorder.core.state.withLock(\.commits.count) <= 12)
    goOn.open()
    await handle.ended()
    let run = try #require(recorder.log.entries.last?.stores.first)
    #expect(run.differences.count <= 12)
    #expect(run.differences.count + run.omittedCount == count)
    #expect(run.oldVersion == 0 && run.newVersion == count)
    await dispatcher.send(Book(customer: "a", amount: 1))
    #expect(recorder.log.entries.last?.actions.first?.type == "Book")
  }

  @Test func compareOnlyAsManyElementsOfACommitAsTheyShow() async throws {
    let (dispatcher, store, recorder) = make()
    await dispatcher.send(Book(customer: "a", amount: 1))
    store.updateModel { ledger in
      for number in 0..<1_000 { ledger.customers["c\(number)"] = Customer() }
    }
    let run = try #require(recorder.log.entries.last?.stores.first)
    #expect(run.differences.count == 100 && run.omittedCount == 900)
  }

  @Test func readAStoreOnceWhateverTheNumberOfThreadsThatFindIt() async {
    let (dispatcher, _, recorder) = make()
    await dispatcher.send(Book(customer: "a", amount: 1))
    for number in 0..<200 {
      let store = dispatcher.registerLedger("s\(number)")
      await withTaskGroup { group in
        for amount in 1...2 {
          group.addTask { await store.send(Book(customer: "a", amount: amount)) }
        }
      }
    }
    let runs = recorder.log.entries.flatMap(\.stores).filter { $0.store.hasPrefix("s") }
    #expect(runs.allSatisfy { $0.newVersion == $0.oldVersion + 1 && !$0.differences.isEmpty })
    #expect(recorder.core.presentTapes.count == 201)
  }

  @Test func keepAtMostTheirLimitAndAnEighth() async {
    let (dispatcher, _, recorder) = make(DispatchRecorder(limit: 16))
    for amount in 0..<1_000 {
      dispatcher.dispatch(Book(customer: "a", amount: amount), mode: .sync)
    }
    let log = recorder.log
    #expect((16...18).contains(log.entries.count))
    #expect(log.droppedCount + log.entries.count == 1_000)
    #expect(recorder.core.state.withLock(\.commits.count) <= 18)
  }

  @Test func keepAtMostTheirBytes() async {
    let (dispatcher, _, recorder) = make(DispatchRecorder(byteLimit: 100_000))
    let name = String(repeating: "x", count: 10_000)
    for _ in 0..<100 {
      dispatcher.dispatch(Join(id: "a", customer: Customer(name: name)), mode: .sync)
    }
    #expect((2...5).contains(recorder.log.entries.count))
  }

  @Test func keepNoMoreBytesOfReplacedPartsOfModels() async {
    let (dispatcher, recorder) = makeRecorded(DispatchRecorder(byteLimit: 100_000))
    let store = dispatcher.register(
      store: Store(identifier: "wide", model: Wide()) {
        On(Fill.self) { wide, fill in wide.numbers = Array(repeating: fill.number, count: 1_000) }
        On(Count.self) { wide, _ in wide.count += 1 }
      })
    for number in 1...100 { await store.send(Fill(number: number)) }
    let count = recorder.core.state.withLock(\.commits.count)
    #expect((5...20).contains(count) && recorder.log.entries.count < 20)
    for _ in 1...200 { await store.send(Count()) }
    #expect(recorder.log.entries.count > 80)
  }

  @Test func endATreeWhoseParentsGoInACircle() async throws {
    let (dispatcher, _, recorder) = make()
    await dispatcher.send(Nested(amounts: [1, 2]))
    var log = recorder.log
    log.entries += log.entries
    let tree = log.tree(of: try #require(log.entries.first { $0.parent == nil }?.id))
    #expect(tree.entries.count == 6)
    let data = try log.jsonLines()
    let id = try #require(log.entries.first { $0.parent == nil }?.id)
    let text = String(decoding: data, as: UTF8.self)
      .replacing("\"id\":\(id),", with: "\"id\":\(id),\"parent\":\(id),")
    let circle = try DispatchLog(jsonLines: Data(text.utf8))
    #expect(circle.tree(of: id).entries.count == 6)
  }

  @Test func saveNumbersThatJSONDoesNotHave() async throws {
    let (dispatcher, recorder) = makeRecorded()
    let store = dispatcher.register(
      store: Store(identifier: "measure", model: [Double]()) {
        On(Measure.self) { values, measure in values.append(measure.value) }
      })
    // The last three are whole, so JSON's decoder reads them as integers.
    let numbers = [1.5, 1.2345678901234568e18, -1.2345678901234568e18, 1.2345678901234567e19]
    for value in [Double.infinity, -.infinity, .nan] + numbers {
      await store.send(Measure(value: value))
    }
    let log = try DispatchLog(jsonLines: recorder.log.jsonLines())
    let values = try log.entries.map { entry in
      let encoded = try #require(entry.actions.first?.encoded)
      var decoder = PlainDecoder()
      decoder.userInfo[.actionCoder] = ActionCoder(Measure.self)
      let action = try decoder.decode(EncodedAction.self, from: encoded).action
      return try #require(action as? Measure).value
    }
    #expect(values[0] == .infinity && values[1] == -.infinity && values[2].isNaN)
    #expect(Array(values.dropFirst(3)) == numbers)
  }

  @Test func refuseALogWhoseOriginIsOutOfRange() throws {
    let head =
      #"{"format":"dispatchstore-log","version":1,"dispatcher":"","origin":1e30,"dropped":0}"#
    let error = #expect(throws: LogFormatError.self) { try DispatchLog(jsonLines: Data(head.utf8)) }
    #expect(error?.line == 1 && error?.reason.contains("origin") == true)
  }

  @Test func writeDeepAndWideModels() async {
    let (dispatcher, recorder) = makeRecorded()
    let store = dispatcher.register(
      store: Store(identifier: "deep", model: Deep.end) {
        On(Deepen.self) { deep, deepen in for _ in 0..<deepen.count { deep = .level(deep) } }
      })
    await store.send(Deepen(count: 5_000))
    await store.send(Deepen(count: 1))
    #expect(recorder.log.entries.allSatisfy { !$0.stores[0].differences.isEmpty })
  }

  @Test func giveTheEntriesAfterAPosition() async {
    let (dispatcher, _, recorder) = make(DispatchRecorder(limit: 100))
    var position = 0
    for amount in 0..<3 { await dispatcher.send(Book(customer: "a", amount: amount)) }
    var (log, end) = recorder.log(after: position, atMost: 10)
    #expect(log.entries.count == 3 && log.droppedCount == 0)
    #expect(recorder.log(after: .min, atMost: 10).log.entries.count == 3)
    #expect(recorder.log(after: .max, atMost: 10).log.entries.isEmpty)
    position = end
    #expect(recorder.log(after: position, atMost: 10).log.entries.isEmpty)
    for amount in 0..<500 { await dispatcher.send(Book(customer: "a", amount: amount)) }
    (log, end) = recorder.log(after: position, atMost: 10)
    #expect(log.entries.count == 10 && log.droppedCount == 490 && end == 503)
  }

  @Test func noteAnActionInItsWrappingAsItself() async {
    let (dispatcher, _, recorder) = make()
    await dispatcher.send(HandledAction(Book(customer: "a", amount: 1)))
    let entry = recorder.log.entries[0]
    #expect(entry.actions[0].type == "Book" && entry.actions[0].encoded != nil)
    #expect(entry.stores.map(\.replacement) == [nil])
  }

  /// Also if they differ only behind what the log shows of them.
  @Test(arguments: Way.all)
  func noteTheActionByWhichAMiddlewareHasReplacedAnother(way: Way) async {
    let (dispatcher, _, recorder) = make()
    dispatcher.register(
      .before(Book.self) { book, _ in
        book.amount == 0 ? .pass : .replace(with: Book(customer: book.customer + "!", amount: 1))
      })
    let customer = String(repeating: "x", count: 10_000)
    for amount in 0...1 {
      let book = Book(customer: customer, amount: amount)
      _ = await dispatcher.begin(action: book, way.mode, [], sends: way.sends).value
    }
    let replacements = recorder.log.entries.flatMap(\.stores).map(\.replacement)
    #expect(replacements.map { $0 == nil } == [true, false])
    #expect(replacements.last??.hasPrefix("Book(customer: \"xxx") == true)
  }

  @Test func writeNothingThatIsMasked() async throws {
    let recorder = DispatchRecorder(masking: [.type(Card.self), .field(\Customer.secret)])
    let (dispatcher, _, _) = make(recorder)
    let customer = Customer(name: "Ann", secret: "swordfish", card: Card(number: "4111"))
    await dispatcher.send(Join(id: "ann", customer: customer))
    let other = Customer(name: "Ann", secret: "tuna", card: Card(number: "4222"))
    await dispatcher.send(Join(id: "ann", customer: other))
    await dispatcher.send(Book(customer: "bob", amount: 1))
    let text = String(decoding: try recorder.log.jsonLines(), as: UTF8.self)
    for secret in ["swordfish", "tuna", "4111", "4222"] { #expect(!text.contains(secret)) }
    #expect(text.contains("‹masked›") && text.contains("Ann"))
    let entries = recorder.log.entries
    #expect(
      entries[1].stores.first?.differences.map(\.path) == [
        #"customers["ann"].secret"#, #"customers["ann"].card"#,
      ])
    #expect(entries[0].actions.first?.encoded == nil && entries[2].actions.first?.encoded != nil)
  }

  /// Its parts are neither equatable nor hashable.
  private struct Plain: Sendable {
    struct Pin: Sendable { var number = 0 }
    var pin = Pin()
    var balance = 0
  }

  private enum PlainAction: ActionType { case pin, balance, both }

  @Test(arguments: [LogMask.type(Plain.Pin.self), .field(\Plain.pin)])
  func sayOfMaskedValuesOnlyWhichHaveChanged(_ mask: LogMask) async {
    let (dispatcher, recorder) = makeRecorded(DispatchRecorder(masking: [mask]))
    let store = dispatcher.register(
      store: Store(identifier: "plain", model: Plain()) {
        On(PlainAction.self) { plain, action in
          if action != .balance { plain.pin.number += 1 }
          if action != .pin { plain.balance += 1 }
        }
      })
    for action in [PlainAction.balance, .pin, .both] { await store.send(action) }
    let paths = recorder.log.entries.map { $0.stores[0].differences.map(\.path) }
    #expect(paths == [["balance"], ["pin"], ["pin", "balance"]])
  }

  @Test func maskWhatIsInSetsKeysObjectsAndNamedDictionaries() async throws {
    let (dispatcher, recorder) = makeRecorded(
      DispatchRecorder(
        masking: [
          .type(Card.self), .type(Number.self), .field(\Purse.hidden), .field(\Pay.secret),
        ]))
    let store = dispatcher.register(
      store: Store(identifier: "wallet", model: Purse()) {
        On(Pay.self) { wallet, pay in
          let number = Number(digits: pay.secret)
          wallet.set = [number]
          wallet.byNumber = [number: 1]
          wallet.hidden["a"] = pay.secret
          wallet.range = number...number
          wallet.holder = pay.holder
        }
      }.undoesInPlace(\.hidden))
    for secret in ["SECRET1", "SECRET2"] { await store.send(Pay(secret)) }
    #expect(!String(decoding: try recorder.log.jsonLines(), as: UTF8.self).contains("SECRET"))
    #expect(recorder.log.entries.allSatisfy { $0.stores[0].differences.count >= 4 })
  }

  @Test func maskNamedDictionariesBehindComputedPropertiesAndOptionals() async throws {
    let (dispatcher, recorder) = makeRecorded(
      DispatchRecorder(
        masking: [.field(\Safe.codes), .field(\Safe.Box.notes), .field(\Hide.secret)]))
    dispatcher.register(
      store: Store(identifier: "computed", model: Safe()) {
        On(Hide.self) { safe, hide in safe.newCodes["a"] = hide.secret }
      }.undoesInPlace(\.newCodes))
    dispatcher.register(
      store: Store(identifier: "optional", model: Safe()) {
        On(Hide.self) { safe, hide in safe.box!.notes["a"] = hide.secret }
      }.undoesInPlace(\.box!.notes))
    for secret in ["SECRET1", "SECRET2"] { await dispatcher.send(Hide(secret: secret)) }
    #expect(!String(decoding: try recorder.log.jsonLines(), as: UTF8.self).contains("SECRET"))
    let runs = recorder.log.entries.flatMap(\.stores)
    #expect(runs.count == 4)
    #expect(runs.allSatisfy { $0.differences.map(\.new) == ["‹masked›"] })
  }

  private struct Shown: CustomStringConvertible, CustomReflectable, Sendable {
    var number = Number(digits: "SECRET")
    var description: String { number.digits }
    var customMirror: Mirror { Mirror(self, children: [:]) }
  }

  private struct Shapes: ActionType {
    var views: [Number: Number] = [Number(digits: "SECRET"): Number(digits: "SECRET")]
    var kept: [Dictionary<Number, Number>.Keys]
    var values: Dictionary<Number, Number>.Values
    var optional: Number? = Number(digits: "SECRET")
    var shown = Shown()

    init() { (kept, values) = ([views.keys], views.values) }
  }

  @Test func maskViewsOfDictionariesOptionalsAndWhatReflectsItself() async throws {
    let (dispatcher, recorder) = makeRecorded(DispatchRecorder(masking: [.type(Number?.self)]))
    dispatcher.register(
      store: Store(identifier: "count", model: 0) {
        On(Shapes.self) { count, _ in count += 1 }
      })
    await dispatcher.send(Shapes())
    let text = recorder.log.entries[0].actions[0].text
    #expect(!text.contains("SECRET") && text.contains("Shown"))
    #expect(text.contains("kept: [[‹masked›]], values: [‹masked›], optional: ‹masked›"))
  }

  private struct Stay: CodableAction { let dates: DateInterval }

  /// A masked start can still be told from what is shown of the end.
  @Test(arguments: [LogMask.type(Date.self), .field(\DateInterval.start)])
  func maskWhatIsInValuesOfFoundation(mask: LogMask) async throws {
    let (dispatcher, recorder) = makeRecorded(DispatchRecorder(masking: [mask]))
    dispatcher.register(
      store: Store(identifier: "stays", model: [DateInterval: DateInterval]()) {
        On(Stay.self) { stays, stay in stays[stay.dates] = stay.dates }
      })
    let start = Date(timeIntervalSinceReferenceDate: 800_000_000)
    await dispatcher.send(Stay(dates: DateInterval(start: start, duration: 60)))
    let entry = try #require(recorder.log.entries.first)
    let difference = try #require(entry.stores.first?.differences.first)
    for text in [entry.actions[0].text, difference.path, difference.new ?? ""] {
      #expect(text.contains("start: ‹masked›"))
      #expect(mask.field != nil || !text.contains("2026"))
    }
    #expect(entry.actions[0].encoded == nil)
  }

  @Test func writeDatesWithTheirFractionsAndThoseOfNoCalendar() {
    func text(_ seconds: Double) -> String? {
      var writer = DiffWriter()
      return writer.line(Date(timeIntervalSinceReferenceDate: seconds))
    }
    #expect(text(0) == "2001-01-01 00:00:00 +0000")
    #expect(text(800_000_000.125) == "2026-05-09 06:13:20.125 +0000")
    #expect(text(-0.25) == "2000-12-31 23:59:59.75 +0000")
    #expect(text(800_000_000.1) != text(800_000_000.1.nextUp))
    #expect(text(.nan) == "nan s since 2001" && text(-.infinity) == "-inf s since 2001")
    #expect(PlainValue.date(Date(timeIntervalSinceReferenceDate: .nan)).description.contains("nan"))
  }

  @Test func goToJSONLinesAndBackUnchanged() async throws {
    let (dispatcher, store, recorder) = make()
    await dispatcher.send(Nested(amounts: [1, 2]))
    await dispatcher.send(Fails())
    await dispatcher.dispatch(actions: [Book(customer: "\"</script>\n\u{202E}", amount: 3)]).ended()
    store.updateModel { $0.total = 7 }
    let log = recorder.log
    let read = try DispatchLog(jsonLines: log.jsonLines())
    #expect(read.entries == log.entries)
    #expect(abs(read.origin.timeIntervalSince(log.origin)) < 0.001)
  }

  @Test func sayWhichLineOfALogCantBeRead() async throws {
    let (dispatcher, _, recorder) = make()
    await dispatcher.send(Book(customer: "a", amount: 1))
    var data = try recorder.log.jsonLines()
    data.append(Data("{\"kind\":\"action\"}\n".utf8))
    let error = #expect(throws: LogFormatError.self) { try DispatchLog(jsonLines: data) }
    #expect(error?.line == 3)
    let spaced = String(decoding: data, as: UTF8.self).replacing("\n", with: "\n\r\n\n")
    #expect(
      #expect(throws: LogFormatError.self) {
        try DispatchLog(jsonLines: Data(spaced.utf8))
      }?.line == 7)
    #expect(throws: LogFormatError.self) { try DispatchLog(jsonLines: Data()) }
    let other = Data(#"{"format":"x","version":1,"dispatcher":"","origin":0,"dropped":0}"#.utf8)
    let format = #expect(throws: LogFormatError.self) { try DispatchLog(jsonLines: other) }
    #expect(format?.reason.contains("\"x\"") == true)
  }

  @Test func cutLongTextsBeforeTheyAreQuoted() {
    var writer = DiffWriter(lengthLimit: 10)
    let customer = Customer(name: String(repeating: "\n", count: 1_000_000), secret: "s")
    let text = writer.line(customer)
    #expect(text == #"Customer(name: "\n\n\n\n\n\n\n\n\n\n"……)"#)
    var whole = DiffWriter()
    #expect(whole.line("ab") == #""ab""#)
  }

  private struct SetPrices { let prices: [String: Int], tags: Set<String>, note = "cut" }

  @Test func cutLongDictionariesAndSetsWhereTheyAreLong() {
    let names = (10_000..<11_000).map { "sku-\($0)" }
    let dictionary = Dictionary(names.map { ($0, 1) }) { $1 }
    for value in [
      SetPrices(prices: dictionary, tags: []), SetPrices(prices: [:], tags: Set(names)),
    ] {
      var writer = DiffWriter(lengthLimit: 4_000)
      let line = writer.line(value) ?? ""
      #expect((4_000...5_000).contains(line.count) && !line.contains("cut"))
      #expect(line.contains(#""sku-10000""#) && line.contains(#""sku-10200""#))
    }
  }

  @Test func keepNothingOfStoresThatAreGone() async {
    let (dispatcher, _, recorder) = make(DispatchRecorder(limit: 10))
    weak var last: LedgerStore?
    for number in 0..<1_000 {
      let store = dispatcher.registerLedger("s\(number)")
      await store.send(Book(customer: "a", amount: 1))
      dispatcher.unregister(store: store)
      last = store
    }
    #expect(last == nil)
    #expect(recorder.core.presentTapes.count < 200)
  }

  @Test func noteTheTimeOfAChangeThatComesAfterTheirDispatchersRelease() {
    let recorder = DispatchRecorder()
    let store: LedgerStore
    do {
      let (dispatcher, ledger, _) = make(recorder)
      dispatcher.dispatch(Book(customer: "a", amount: 1), mode: .sync)
      store = ledger
    }
    store.updateModel { $0.total = 7 }
    let entries = recorder.log.entries
    #expect(entries.map(\.kind) == [.action, .change])
    #expect(entries[0].began <= entries[1].began)
  }

  @Test func mayBeReleasedInAnExclusiveSection() {
    let (dispatcher, store, _) = make()
    let last = Locked<DispatchRecorder?>(nil)
    weak var core: RecorderCore?
    do {
      let recorder = DispatchRecorder()
      dispatcher.register(middleware: recorder)
      dispatcher.dispatch(Book(customer: "a", amount: 1), mode: .sync)
      core = recorder.core
      dispatcher.unregister(middleware: recorder)
      last.withLock { $0 = recorder }
    }
    store.updateModel { ledger in
      ledger.total = 7
      withExtendedLifetime(last.exchange(nil)) {}
    }
    #expect(core == nil && store.model.total == 7)
    dispatcher.dispatch(Book(customer: "a", amount: 1), mode: .sync)
    #expect(store.model.total == 8)
  }
}
