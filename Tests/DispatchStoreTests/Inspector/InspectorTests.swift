import DispatchStoreInspector
import DispatchStoreTesting
import Foundation
import Testing

@testable import DispatchStore

private struct Slow: ActionType {}
private struct Refuse: ActionType { let number: Int }
private struct Refusal: Error { let text: String }

@Suite("The inspector", .timeLimit(.minutes(10)))
struct InspectorTests {
  private let dispatcher = Dispatcher(name: "</script><b>\"bank\"")
  private let recorder = DispatchRecorder()

  init() {
    dispatcher.register(middleware: recorder)
    dispatcher.registerLedger()
  }

  /// The data of a page.
  private func data(of page: String) throws -> [String: Any] {
    let start = try #require(page.firstRange(of: "id=\"data\">"))
    let end = try #require(page[start.upperBound...].firstRange(of: "</script>"))
    let json = Data(page[start.upperBound..<end.lowerBound].utf8)
    return try #require(try JSONSerialization.jsonObject(with: json) as? [String: Any])
  }

  /// The part of an event's identifier that is of the log.
  private func origin(of event: InspectorFeed.Element) -> String {
    String(event.id.prefix { $0 != "-" })
  }

  @Test func aPageHasEveryEntryAndEachTextOnce() async throws {
    for amount in 1...3 { await dispatcher.send(Book(customer: "a", amount: amount)) }
    await dispatcher.send(Nested(amounts: [7]))
    let data = try data(of: recorder.html())
    let chunk = try #require(data["chunk"] as? [String: Any])
    let strings = chunk["strings"] as? [String]
    let entries = try #require(chunk["entries"] as? [String: Any])
    #expect(entries["count"] as? Int == 5 && entries.count == 15)
    #expect(strings.map { Set($0).count == $0.count } == true)
    #expect(strings?.contains("Book(customer: \"a\", amount: 2)") == true)
    #expect(data["live"] is NSNull && data["status"] is NSNull)
  }

  @Test func anOldValueIsWrittenOnlyIfItIsNotTheLastNewOne() async throws {
    await dispatcher.send(Book(customer: "a", amount: 1))
    await dispatcher.send(Book(customer: "a", amount: 2))
    var log = recorder.log
    // By change: the total, the customer. Without the first entry, the page has no values from before the second one.
    for (entries, expected) in [
      (log.entries, [2, 0, 0, 2]), (Array(log.entries.dropFirst()), [2, 2]),
    ] {
      log.entries = entries
      let chunk = try #require(try data(of: log.html())["chunk"] as? [String: Any])
      let changes = try #require(chunk["changes"] as? [String: Any])
      let old = try #require(changes["old"])
      let count = try #require(changes["count"] as? Int)
      let codes = try #require(
        old as? [Int] ?? (old as? Int).map { Array(repeating: $0, count: count) })
      #expect(codes == expected)
    }
  }

  /// A change of a model outside of any dispatch.
  private func change(
    at began: Duration, for duration: Duration = .zero
  ) -> DispatchLog.Entry {
    DispatchLog.Entry(
      kind: .change, id: nil, parent: nil, isOutsideBlocks: false, actions: [], mode: "",
      lanes: [], began: began, timeQueued: .zero, duration: duration, callSite: "", error: nil,
      outcome: nil, stores: [])
  }

  @Test func changesAtTheSameTimeHaveNumbersOfTheirOwn() throws {
    let log = DispatchLog(
      dispatcher: "", origin: Date(), droppedCount: 7,
      entries: [change(at: .seconds(1)), change(at: .seconds(1))])
    let chunk = try #require(try data(of: log.html())["chunk"] as? [String: Any])
    let entries = try #require(chunk["entries"] as? [String: Any])
    // The second number as the difference from the first.
    #expect(entries["id"] as? [Int] == [-9, -1])
  }

  @Test(arguments: [-3, -1, Int.max])
  func aPageOfALogThatSaysAnyNumberOfDroppedEntriesIsMade(_ dropped: Int) throws {
    let log = DispatchLog(
      dispatcher: "", origin: Date(), droppedCount: dropped, entries: [change(at: .seconds(1))])
    let chunk = try #require(try data(of: log.html())["chunk"] as? [String: Any])
    let entries = try #require(chunk["entries"] as? [String: Any])
    let number = (entries["id"] as? [Int])?.first ?? entries["id"] as? Int
    #expect(try #require(number) <= -2)
  }

  @Test(arguments: [0, 29, 30, 105, 36_500])
  func timesAreNumbersThatAPageReads(daysAfterTheOrigin days: Int) throws {
    let began = Duration.seconds(days * 86_400) + .nanoseconds(7)
    let log = DispatchLog(dispatcher: "", origin: Date(), entries: [change(at: began)])
    let chunk = try #require(try data(of: log.html())["chunk"] as? [String: Any])
    let base = try #require(chunk["base"] as? Int)
    let number = try #require((chunk["entries"] as? [String: Any])?["began"] as? Int)
    #expect(abs(number) < 1 << 53)
    #expect(Duration.milliseconds(base) + Duration.nanoseconds(number) == began)
  }

  private static let file = ProcessInfo.processInfo.environment["INSPECTOR_PAGE"]

  /// Writes a page with causes and hostile texts, which CI opens in a browser, and one tree of them for Graphviz.
  @Test(.enabled(if: Self.file != nil)) func aPageWithCausesIsWrittenForABrowser() async throws {
    let texts = [
      "</script><b>", "\"'\\", "one\ntwo", "\u{202E}right to left",
      String(repeating: "x", count: 4_096),
    ]
    dispatcher.register(
      store: Store(identifier: "slow", model: 0) {
        Perform(Slow.self) { _, _ in try await Task.sleep(for: .seconds(3_600)) }
      })
    for number in 0..<200 {
      await dispatcher.send(Nested(amounts: [number, number + 1]), mode: .serial(lane: number % 3))
      await dispatcher.send(Book(customer: texts[number % 5], amount: number))
      if number % 10 == 0 { await dispatcher.send(Fails()) }
      if number % 20 == 0 {
        await dispatcher.send(Slow(), options: .timeout(.milliseconds(1)))
        await dispatcher.dispatch(actions: [Slow()], options: .timeout(.milliseconds(1))).ended()
      }
    }
    try recorder.html().write(toFile: Self.file!, atomically: true, encoding: .utf8)
    let log = recorder.log
    let cause = try #require(log.entries.first { $0.parent != nil }?.parent)
    try log.tree(of: cause).graphviz().write(
      toFile: Self.file! + ".dot", atomically: true, encoding: .utf8)
  }

  @Test func hostileTextStaysText() async throws {
    let text = "</script><script>alert(1)</script>\"\\\n\u{2028}\u{202E}\u{0}é"
    await dispatcher.send(Book(customer: text, amount: 1))
    let page = recorder.html()
    #expect(page.components(separatedBy: "</script>").count == 3)
    let data = try data(of: page)
    #expect(data["name"] as? String == dispatcher.name)
    let strings = (data["chunk"] as? [String: Any])?["strings"] as? [String]
    #expect(strings?.contains { $0.contains("<script>alert(1)") } == true)
  }

  @Test func aPageHasTheStatus() async throws {
    dispatcher.tracksInFlight = true
    let (entered, goOn) = (Latch(), Latch())
    dispatcher.register(
      store: Store(identifier: "slow", model: 0) {
        Perform(Fails.self) { _, _ in
          entered.open()
          await goOn.opened()
        }
      })
    let limit = DispatchLimit(5, name: "calls")
    let handles = (0..<3).map { _ in
      dispatcher.dispatch(
        Fails(), to: "slow", mode: .serial(lane: "x"), options: .limited(by: limit))
    }
    await entered.opened()
    let page = recorder.log.html(status: InspectorStatus(of: dispatcher, limits: [limit]))
    goOn.open()
    for handle in handles { await handle.ended() }
    let data = try data(of: page)
    let status = try #require(data["status"] as? [String: Any])
    #expect((status["inFlight"] as? [Any])?.count == 3)
    #expect((status["edges"] as? [Any])?.count == 2)
    #expect(status["tracked"] as? Bool == true && (status["cycles"] as? [Any])?.isEmpty == true)
    let limits = try #require(status["limits"] as? [[String: Any]])
    #expect(limits.first?["inUse"] as? Int == 3 && limits.first?["limit"] as? Int == 5)
    let lanes = try #require(status["lanes"] as? [[String: Any]])
    #expect(lanes.first?["waiting"] as? Int == 2)
  }

  @Test func aLivePageHasTheNameAndNoEntries() async throws {
    for _ in 1...2 {
      let data = try data(of: recorder.livePage(at: dispatcher, events: "events"))
      #expect(data["name"] as? String == dispatcher.name && data["live"] as? String == "events")
      let chunk = data["chunk"] as? [String: Any]
      #expect((chunk?["entries"] as? [String: Any])?["count"] as? Int == 0)
      await dispatcher.send(Book(customer: "a", amount: 1))
    }
  }

  private func status(of dispatcher: Dispatcher) throws -> [String: Any] {
    let page = recorder.log.html(status: InspectorStatus(of: dispatcher))
    return try #require(try data(of: page)["status"] as? [String: Any])
  }

  @Test func aStatusSaysWhetherWhatIsInFlightIsKnown() throws {
    #expect(try status(of: dispatcher)["tracked"] as? Bool == false)
    dispatcher.tracksInFlight = true
    #expect(try status(of: dispatcher)["tracked"] as? Bool == true)
  }

  @Test func aStatusSaysWhichCyclesAreProbable() async throws {
    let world = DiagnosisWorld()
    let held = await world.hold(.serial)
    let queued = world.add(.serial)
    world.clock.advance(by: .seconds(2))
    let waits = Task.immediate { _ = await queued.ended() }
    let cycles = try status(of: world.dispatcher)["cycles"] as? [[String: Any]]
    #expect(cycles?.map { $0["size"] as? Int } == [2])
    #expect(cycles?.map { $0["probable"] as? Bool } == [true])
    await world.end(held, queued)
    await waits.value
  }

  @Test func aStatusOfAnyNumberOfDispatchesIsShort() async throws {
    dispatcher.tracksInFlight = true
    dispatcher.queue.isSuspended = true
    let key = String(repeating: "k", count: 2_000)
    let handles = (0..<5_000).map { number in
      dispatcher.dispatch(
        Book(customer: "a", amount: number), mode: .serial(lane: key + "\(number % 1_000)"))
    }
    var events = InspectorFeed(of: recorder, at: dispatcher).makeAsyncIterator()
    let event = try #require(await events.next())
    for handle in handles { handle.cancel() }
    dispatcher.queue.isSuspended = false
    for handle in handles { await handle.ended() }
    #expect(event.name == "status" && event.data.utf8.count < 1_000_000)
    let object = try JSONSerialization.jsonObject(with: Data(event.data.utf8))
    let status = try #require(object as? [String: Any])
    #expect(status["count"] as? Int == 5_000)
    #expect((status["inFlight"] as? [Any])?.count == 500)
    #expect((status["text"] as? String)?.contains("5000 in flight") == true)
  }

  @Test func aFeedOfABusyDispatcherStillHasAStatusAndTheOrigin() async throws {
    var events = InspectorFeed(of: recorder, at: dispatcher).makeAsyncIterator()
    // The page may be open before the first dispatch, at which the log begins.
    #expect(await events.next()?.data.contains("\"origin\":0,") == true)
    var names: [String] = []
    for amount in 1...5 {
      await dispatcher.send(Book(customer: "a", amount: amount))
      let event = try #require(await events.next())
      names.append(event.name)
      if event.name == "status" { #expect(!event.data.contains("\"origin\":0,")) }
      #expect(event.id.hasSuffix("-\(min(amount, 4))"))
    }
    #expect(names == ["entries", "entries", "entries", "entries", "status"])
  }

  @Test func aFeedThatComesBackToAnotherProcessBeginsAnew() async throws {
    await dispatcher.send(Book(customer: "a", amount: 1))
    var events = InspectorFeed(of: recorder, at: dispatcher).makeAsyncIterator()
    let first = try #require(await events.next())
    let origin = self.origin(of: first)
    // The position of another process may be one of this one's, too.
    for id in ["\(origin)-1000", "1-1", "1", ""] {
      events = InspectorFeed(of: recorder, at: dispatcher, after: id).makeAsyncIterator()
      #expect(await events.next()?.name == "status")
      let event = try #require(await events.next())
      #expect(event.name == "entries" && event.id == "\(origin)-1")
    }
  }

  @Test func aPageThatOpensOrComesBackGetsTheWholeLogEventByEvent() async throws {
    for amount in 1...5 { await dispatcher.send(Book(customer: "a", amount: amount)) }
    var former = InspectorFeed(of: recorder, at: dispatcher).makeAsyncIterator()
    let first = try #require(await former.next())
    for known in [0, 2] {
      let id = known == 0 ? nil : "\(origin(of: first))-\(known)"
      var events = InspectorFeed(of: recorder, at: dispatcher, after: id, batch: 2)
        .makeAsyncIterator()
      #expect(await events.next()?.name == "status")
      var data = ""
      while let event = await events.next() {
        data += event.data
        if event.name == "status" { break }
      }
      for amount in 1...5 { #expect(data.contains("amount: \(amount))") == (amount > known)) }
      #expect(data.contains("\"notSent\":0,"))
    }
  }

  @Test func whatWasDroppedBeforeAPageOpenedIsNotCountedAsNotSent() async throws {
    let (recorder, dispatcher) = (DispatchRecorder(limit: 8), Dispatcher())
    dispatcher.register(middleware: recorder)
    dispatcher.registerLedger()
    for amount in 1...100 { await dispatcher.send(Book(customer: "a", amount: amount)) }
    var events = InspectorFeed(of: recorder, at: dispatcher).makeAsyncIterator()
    for name in ["status", "entries"] { #expect(await events.next()?.name == name) }
    var event = try #require(await events.next())
    while event.name != "status" { event = try #require(await events.next()) }
    let dropped = recorder.log.droppedCount
    #expect(dropped > 90)
    #expect(event.data.contains("\"dropped\":\(dropped),\"notSent\":0,"))
  }

  @Test(arguments: [false, true])
  func anEventEndsAfterSomeText(isOfErrors: Bool) async throws {
    let name = String(repeating: "x", count: 3_900)
    dispatcher.register(
      store: Store(identifier: "refusing", model: 0) {
        On(Refuse.self) { _, refuse in throw Refusal(text: "\(refuse.number)\(name)") }
      })
    for amount in 1...1_500 {
      if isOfErrors {
        dispatcher.dispatch(Refuse(number: amount), mode: .sync)
      } else {
        dispatcher.dispatch(Book(customer: "\(amount)\(name)", amount: amount), mode: .sync)
      }
    }
    var events = InspectorFeed(of: recorder, at: dispatcher).makeAsyncIterator()
    var sizes: [Int] = []
    while let event = await events.next() {
      guard event.name == "entries" else { continue }
      sizes.append(event.data.utf8.count)
      if event.id.hasSuffix("-1500") { break }
    }
    #expect(sizes.count > 1 && sizes.allSatisfy { $0 < 8_000_000 })
  }

  @Test func aGraphHasNoControlCharacters() async {
    await dispatcher.send(
      Book(customer: "a", amount: 1), mode: .serial(lane: "\u{0}\u{1}\u{1B}\r\n"))
    for graph in [recorder.log.graphviz(), recorder.log.mermaid()] {
      #expect(graph.unicodeScalars.allSatisfy { $0.value >= 32 || $0 == "\n" })
    }
  }

  @Test func aFeedHasTheStatusAndThenWhatComes() async throws {
    await dispatcher.send(Book(customer: "a", amount: 1))
    var former = InspectorFeed(of: recorder, at: dispatcher).makeAsyncIterator()
    let first = try #require(await former.next())
    let id = "\(origin(of: first))-1"
    var events = InspectorFeed(of: recorder, at: dispatcher, after: id, batch: 2)
      .makeAsyncIterator()
    #expect(await events.next()?.name == "status")
    for amount in 2...5 { await dispatcher.send(Book(customer: "b", amount: amount)) }
    let event = try #require(await events.next())
    #expect(event.name == "entries" && !event.data.contains("\n"))
    #expect(event.data.contains("amount: 5") && !event.data.contains("amount: 3"))
    // Until the next status, nothing else comes.
    while let next = await events.next() {
      guard next.name == "status" else { continue }
      #expect(next.data.contains("\"notSent\":2"))
      break
    }
  }

  @Test func aTraceHasATrackPerLaneAndArrowsFromCauses() async throws {
    await dispatcher.send(Book(customer: "a", amount: 1), mode: .serial(lane: "one"))
    await dispatcher.send(Nested(amounts: [2, 3]), mode: .serial(lane: "two"))
    let object = try JSONSerialization.jsonObject(with: recorder.log.chromeTrace())
    let all = try #require((object as? [String: Any])?["traceEvents"] as? [[String: Any]])
    func events(_ phase: String) -> [[String: Any]] {
      all.filter { $0["ph"] as? String == phase }
    }
    #expect(events("X").count == 4)
    #expect(events("s").count == 2 && events("f").count == 2)
    #expect(events("C").count == 8)
    let tracks = events("M").compactMap { ($0["args"] as? [String: Any])?["name"] as? String }
    #expect(Set(tracks).isSuperset(of: ["one", "two", "sync"]))
  }

  @Test func aTraceHasAsManyTracksAsDispatchesRanAtATime() throws {
    // 1,000 at a time: each lasts for 1,000 ns, and one begins in each of these.
    let entries = (0..<10_000).map { number in
      change(at: .nanoseconds(number), for: .nanoseconds(1_000))
    }
    let log = DispatchLog(dispatcher: "", origin: Date(), entries: entries)
    let object = try JSONSerialization.jsonObject(with: log.chromeTrace())
    let all = try #require((object as? [String: Any])?["traceEvents"] as? [[String: Any]])
    let slices = all.filter { $0["ph"] as? String == "X" }
    let byTrack = Dictionary(grouping: slices) { $0["tid"] as? Int }
    #expect(byTrack.count == 1_000 && byTrack.values.allSatisfy { $0.count == 10 })
  }

  @Test func graphsHaveTheCauses() async throws {
    await dispatcher.send(Nested(amounts: [2, 3]))
    await dispatcher.send(Book(customer: "\"]-->#", amount: 1))
    let log = recorder.log
    #expect(log.graphviz().components(separatedBy: "->").count - 1 == 3)
    #expect(log.graphviz().contains(#"\"\\\"]"#))
    let tree = log.tree(of: log.entries.first { $0.actions[0].type == "Nested" }!.id!)
    #expect(tree.mermaid().components(separatedBy: " --> ").count == 3)
    #expect(!log.mermaid().contains("\"]-->#\""))
  }
}
