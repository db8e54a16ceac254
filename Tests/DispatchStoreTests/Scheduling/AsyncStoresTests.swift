import DispatchStore
import Testing

/// Several stores of one action in the concurrent queue.
@Suite("Stores in async", .timeLimit(.minutes(10)))
struct AsyncStoresTests {
  private typealias Count = Store<Int, Script>

  private let dispatcher = Dispatcher(queue: .wide(2))
  private let began = Latch()
  private let released = Latch()

  @discardableResult
  private func addCount(
    _ identifier: String, waitFor: WaitFor = [], to other: Dispatcher? = nil
  ) -> Count {
    let reducer = FunctionReducer<Int, Script> { count, _ in count += 1 }
    return (other ?? dispatcher).register(
      store: Store(identifier: identifier, model: 0, reducer: reducer), waitFor: waitFor)
  }

  /// What blocks the thread of the store "blocking".
  private var blocks: Script {
    .runs { [began, released] stage in
      guard stage.identifier == "blocking" else { return }
      began.open()
      released.wait()
    }
  }

  @Test func oneThatBlocksDelaysNoneThatDoesNotWaitForIt() async {
    dispatcher.addStage("blocking")
    let waiting = addCount("waiting", waitFor: ["blocking"])
    let free = addCount("free")
    let observed = Latch()
    let token = free.observe(.model) { _ in observed.open() }
    let handle = dispatcher.dispatch(action: blocks)
    await observed.opened()
    await began.opened()
    #expect([waiting.version, free.version] == [0, 1])
    released.open()
    #expect(await handle.result.isSuccess)
    #expect([waiting.version, free.version] == [1, 1])
    token.cancel()
  }

  @Test func oneThatBlocksDelaysNeitherAnotherOneNorThoseThatWaitForThat() async {
    dispatcher.addStage("blocking")
    dispatcher.addStage("other")
    let behind = addCount("behind", waitFor: ["other"])
    let observed = Latch()
    let token = behind.observe(.model) { _ in observed.open() }
    let handle = dispatcher.dispatch(action: blocks)
    await observed.opened()
    await began.opened()
    #expect(!handle.hasEnded)
    released.open()
    #expect(await handle.result.isSuccess)
    token.cancel()
  }

  @Test func oneThatOnlyReducesWaitsForNoneThatBlocksAlsoInANarrowQueue() async {
    let narrow = Dispatcher(queue: .wide(1))
    narrow.addStage("blocking")
    narrow.addStage("other")
    let free = addCount("free", to: narrow)
    let observed = Latch()
    let token = free.observe(.model) { _ in observed.open() }
    let handle = narrow.dispatch(action: blocks)
    await observed.opened()
    await began.opened()
    #expect(!handle.hasEnded)
    released.open()
    #expect(await handle.result.isSuccess)
    token.cancel()
  }

  @Test func hooksAndResultsAreInTheOrderOfWaitFor() async {
    addCount("first")
    dispatcher.addStage("operation", waitFor: ["first"])
    addCount("last")
    let steps = Recorder<String>()
    dispatcher.register(middleware: RecordingMiddleware("m", to: steps))
    for _ in 0..<2 {
      let result = await dispatcher.dispatch(action: Script.adds("1")).result
      #expect(result.isSuccess)
      #expect(result.stores.map(\.storeIdentifier) == ["first", "operation", "last"])
    }
    let wills = ["m will first", "m will operation", "m will last"]
    let dids = ["m did first", "m did last", "m did operation"]
    #expect(steps.all == wills + dids + wills + dids)
  }

  @Test func oneThatFailsIsNamedAtItsPlaceAndThoseThatWaitForItFail() async {
    dispatcher.addStage("failing")
    addCount("waiting", waitFor: ["failing"])
    addCount("free")
    for _ in 0..<2 {
      let fails = Script.runs { _ in throw StageFright() }
      let result = await dispatcher.dispatch(action: fails).result
      #expect(result.stores.map(\.storeIdentifier) == ["failing", "waiting", "free"])
      #expect(result["failing"].error is StageFright)
      #expect(result["waiting"].errorCode == .dependencyFailed)
      #expect(result["free"].isFinished == true)
    }
  }

  @Test func storesThatWaitStartAfterAnOperationThatEndsElsewhere() async {
    dispatcher.addStage("slow")
    addCount("waiting", waitFor: ["slow"])
    addCount("free")
    for count: UInt64 in 1...20 {
      let suspends = Script.suspends { stage in
        await Task.yield()
        stage.updateModel { $0 = [] }
      }
      let result = await dispatcher.dispatch(action: suspends).result
      #expect(result.isSuccess)
      #expect(result.stores.map(\.storeIdentifier) == ["slow", "waiting", "free"])
      #expect(dispatcher.stores.map(\.version) == [count, count, count])
    }
  }
}
