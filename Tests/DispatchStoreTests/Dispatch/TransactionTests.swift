import DispatchStore
import Foundation
import Testing

@Suite("Transactions", .timeLimit(.minutes(10)))
struct TransactionTests {
  let dispatcher = Dispatcher()
  let log = Recorder<DispatchInfo>()

  init() {
    dispatcher.addStage()
    dispatcher.register(
      middleware: RecordingMiddleware(will: { [log] transaction, _, _ in
        log.record(transaction)
        return .pass
      }))
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func knowTheirModeAndCallSite(_ mode: Dispatcher.Mode) async {
    let line: UInt = #line + 1
    let handle = dispatcher.dispatch(action: Script.adds("a"), mode: mode)
    _ = await handle.result
    let transaction = log.all[0]
    #expect(transaction.id == handle.dispatchID)
    #expect(transaction.mode == mode)
    #expect(transaction.callSite.description == "DispatchStoreTests/TransactionTests.swift:\(line)")
    #expect(transaction.dispatcher === dispatcher)
    #expect(transaction.parent == nil)
  }

  @Test func haveTheEpochOfTheirProcessAndANumberInIt() async {
    let ids = (0..<3).map {
      dispatcher.dispatch(action: Script.adds("\($0)"), mode: .sync).dispatchID
    }
    #expect(Set(ids.map(\.epoch)).count == 1)
    #expect(ids[0] < ids[1] && ids[1] < ids[2])
    #expect(ids.map(\.number) == ids.map(\.number).sorted())
    let milliseconds = Date().timeIntervalSince1970 * 1_000
    #expect(abs(Double(ids[0].epoch >> 22) - milliseconds) < 86_400_000)
    #expect(ids[0].description == String(ids[0].epoch, radix: 36) + "#\(ids[0].number)")
  }

  @Test func areOthersInAnotherProcess() async throws {
    func own() -> String {
      let dispatcher = Dispatcher()
      dispatcher.addStage()
      return "\(dispatcher.dispatch(action: Script.adds("a"), mode: .sync).dispatchID)"
    }
    let ended = await #expect(
      processExitsWith: .success, observing: [\.standardOutputContent]
    ) {
      let dispatcher = Dispatcher()
      dispatcher.addStage()
      print("id", dispatcher.dispatch(action: Script.adds("a"), mode: .sync).dispatchID)
    }
    let printed = String(decoding: try #require(ended).standardOutputContent, as: UTF8.self)
    let line = try #require(printed.split(separator: "\n").first { $0.hasPrefix("id ") })
    #expect(line.contains("#"))
    #expect(line.dropFirst(3).prefix { $0 != "#" } != own().prefix { $0 != "#" })
  }

  @Test(arguments: Dispatcher.Mode.everyMode, Dispatcher.Mode.everyMode)
  func knowTheOneFromInsideWhichTheyWereDispatched(
    _ outer: Dispatcher.Mode, _ inner: Dispatcher.Mode
  ) async {
    let dispatcher = dispatcher
    let blocks: [Script] = [
      .runs { _ in dispatcher.dispatch(action: Script.adds("inner"), mode: inner) },
      .suspends { _ in
        await Task.yield()
        dispatcher.dispatch(action: Script.adds("inner"), mode: inner)
      },
    ]
    for block in blocks {
      let before = log.count
      let handle = dispatcher.dispatch(action: block, mode: outer)
      _ = await log.first(before + 2)
      #expect(log.all[before + 1].parent == handle.dispatchID)
      _ = await handle.result
    }
  }

  @Test func areTheCauseOfWhatHooksDispatchAlsoInsideAReduction() async {
    let (dispatcher, first, causes) = (dispatcher, Dispatcher(), Recorder<DispatchID?>())
    first.register(
      store: .reducing("forwards") { dispatcher.dispatch(action: Script.adds("forwarded")) })
    dispatcher.register(
      middleware: RecordingMiddleware(will: { transaction, action, _ in
        if "\(action)" == "forwarded" {
          causes.record(transaction.id)
          dispatcher.dispatch(action: Script.adds("caused"))
        }
        return .pass
      }))
    for _ in 0..<2 { first.dispatch(action: Ping(), mode: .sync) }
    let transactions = await log.first(4)
    let caused = transactions.filter { $0.parent.map(causes.all.contains) == true }
    #expect(caused.count == 2)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func areTheCauseOfWhatTheirCompletionDispatches(_ mode: Dispatcher.Mode) async {
    let dispatcher = dispatcher
    let handle = dispatcher.dispatch(action: Script.adds("a"), mode: mode) {
      dispatcher.dispatch(action: Script.adds("b"), mode: mode)
    }
    #expect(await log.first(2)[1].parent == handle.dispatchID)
  }

  @Test func areUniqueAndRiseOnEachThread() async {
    let dispatcher = Dispatcher()
    let ids = Recorder<[DispatchID]>()
    await onOwnThreads(4) { _ in
      ids.record(
        (0..<2_500).map { _ in dispatcher.dispatch(action: Ping(), mode: .sync).dispatchID })
    }
    #expect(Set(ids.all.flatMap { $0 }).count == 10_000)
    for own in ids.all { #expect(own == own.sorted()) }
  }
}
