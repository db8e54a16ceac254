import DispatchStore
import Testing

/// Actions chained with completions, or with `await`.
@Suite("Chains", .timeLimit(.minutes(10)))
struct ChainTests {
  let dispatcher = Dispatcher()
  let stage: CounterStore

  init() {
    stage = dispatcher.register(store: .counter("counter"))
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func manyByHandleRunInABoundedStack(_ mode: Dispatcher.Mode) async {
    let released = Latch()
    dispatcher.addStage()
    var last = dispatcher.dispatch(
      action: Script.suspends { _ in await released.opened() }, mode: .serial(lane: "first"))
    let count = Load.count(10_000)
    for _ in 0..<count {
      last = dispatcher.dispatch(action: CounterAction.add(1), mode: mode, options: .after(last))
    }
    released.open()
    #expect(await last.result.isSuccess)
    #expect(stage.model.count == count)
  }

  @Test(arguments: Dispatcher.Mode.everyMode, Dispatcher.Mode.everyMode)
  func mayChangeTheirMode(_ first: Dispatcher.Mode, _ second: Dispatcher.Mode) async {
    let (dispatcher, stage, ended) = (dispatcher, stage, Latch())
    dispatcher.dispatch(action: CounterAction.note("first"), mode: first) {
      dispatcher.dispatch(action: CounterAction.note("second"), mode: second) {
        stage.dispatch(.note("third"), mode: first) { _ in ended.open() }
      }
    }
    await ended.opened()
    #expect(stage.model.notes == ["first", "second", "third"])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func aChainOfFourOverThreeStoresRunsTwelveOperations(_ mode: Dispatcher.Mode) async {
    let (dispatcher, log, ended) = (Dispatcher(), Recorder<String>(), Latch())
    for name in ["a", "b", "c"] { dispatcher.addProbe(name, to: log) }
    @Sendable func link(_ left: Int) {
      guard left > 0 else { return ended.open() }
      dispatcher.dispatch(action: Ping(), mode: mode) { link(left - 1) }
    }
    link(4)
    await ended.opened()
    #expect(log.all.filter { $0.hasPrefix("+") }.count == 12)
  }
}
