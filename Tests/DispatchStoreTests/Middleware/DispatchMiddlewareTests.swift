import DispatchStore
import DispatchStoreTesting
import Foundation
import Testing

/// Hooks of whole dispatches, and what hooks keep for a transaction.
@Suite(.timeLimit(.minutes(10)))
struct DispatchMiddlewareTests {
  private enum Name: DispatchKey { typealias Value = String }

  /// Records what it gets, and keeps names for the transaction and each store.
  private final class Tracer: Middleware {
    let steps = Recorder<String>()
    let infos = Recorder<DispatchInfo>()

    func dispatchWillBegin(_ dispatch: DispatchInfo) {
      dispatch[Name.self] = "whole"
      steps.record("begin \(dispatch.actions.count)")
    }

    func dispatchDidEnd(_ dispatch: DispatchInfo, result: DispatchResult) {
      infos.record(dispatch)
      steps.record("end \(dispatch[Name.self] ?? "-") \(result.isSuccess)")
    }

    func willDispatch(
      transaction: DispatchInfo, action: AnyAction, in store: AnyStore
    ) -> MiddlewareVerdict {
      transaction[byStore: Name.self] = store.identifier
      steps.record("will \(transaction[Name.self] ?? "-")")
      return .pass
    }

    func didDispatch(transaction: StoreRunInfo, action: AnyAction, in store: AnyStore) {
      steps.record("did \(transaction.dispatch[byStore: Name.self] ?? "-")")
    }
  }

  private let dispatcher = Dispatcher()
  private let tracer = Tracer()

  init() {
    dispatcher.register(middleware: tracer)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func eachDispatchBeginsAndEndsOnceAroundItsHooksAndCompletion(_ mode: Dispatcher.Mode) async {
    dispatcher.addStage("a")
    dispatcher.addStage("b", waitFor: ["a"])
    let steps = tracer.steps
    for action in [Script.adds("1"), .suspends { _ in await Task.yield() }] {
      let handle = dispatcher.dispatch(action: action, mode: mode) { steps.record("completion") }
      #expect(await handle.result.isSuccess)
    }
    let expected = [
      "begin 1", "will whole", "will whole", "did a", "did b", "completion", "end whole true",
    ]
    #expect(steps.all == expected + expected)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func aSequenceIsAroundItsActions(_ mode: Dispatcher.Mode) async {
    dispatcher.addStage("a")
    let handle = dispatcher.dispatch(actions: [Script.adds("1"), Script.adds("2")], mode: mode)
    #expect(await handle.result.isSuccess)
    #expect(
      tracer.steps.all == [
        "begin 2", "begin 1", "will whole", "did a", "end whole true", "begin 1", "will whole",
        "did a", "end whole true", "end whole true",
      ])
    #expect(tracer.infos.all.map(\.isSequence) == [false, false, true])
    #expect(tracer.infos.all.map(\.parent) == [handle.dispatchID, handle.dispatchID, nil])
  }

  @Test func oneToWhichNoStoreRespondsHasBothHooks() async {
    _ = await dispatcher.dispatch(action: Script.adds("1")).result
    #expect(tracer.steps.all == ["begin 1", "end whole true"])
  }

  @Test func oneThatIsCancelledWhileItWaitsHasBothHooks() async {
    dispatcher.addStage("a")
    dispatcher.queue.isSuspended = true
    let handle = dispatcher.dispatch(action: Script.adds("1"))
    handle.cancel()
    _ = await handle.result
    #expect(tracer.steps.all == ["begin 1", "will whole", "did a", "end whole false"])
    #expect(tracer.infos.all[0].duration == .zero)
    dispatcher.queue.isSuspended = false
  }

  /// By the dispatcher's clock: three seconds in its lane's inbox, and two in its block.
  @Test func timeQueuedAndDurationAreOfTheWhole() async {
    let clock = VirtualClock()
    let dispatcher = Dispatcher(clock: clock)
    dispatcher.addStage("a")
    let (first, second) = (Latch(), Latch())
    let started = Latch()
    let before = dispatcher.dispatch(
      action: Script.suspends { _ in await first.opened() }, mode: .serial)
    dispatcher.register(middleware: tracer)
    let handle = dispatcher.dispatch(
      action: Script.holds(opening: started, until: second), mode: .serial)
    clock.advance(by: .seconds(3))
    first.open()
    _ = await before.result
    await started.opened()
    clock.advance(by: .seconds(2))
    second.open()
    _ = await handle.result
    #expect(tracer.infos.all.map(\.timeQueued) == [.seconds(3)])
    #expect(tracer.infos.all.map(\.duration) == [.seconds(2)])
  }

  /// Without hooks by store, too, where stores run as without a middleware.
  @Test(arguments: Dispatcher.Mode.everyMode, OperationStyle.allCases)
  func timesAreTheSameWithoutHooksByStore(_ mode: Dispatcher.Mode, _ style: OperationStyle) async {
    let clock = VirtualClock()
    let (dispatcher, times) = (Dispatcher(clock: clock), Recorder<[Duration]>())
    dispatcher.register(
      middleware: EndHook(.dispatches) { info, _ in times.record([info.timeQueued, info.duration]) }
    )
    await dispatcher.dispatch(action: CounterAction.add(1), mode: mode).ended()
    dispatcher.register(store: .reducing("reducing") { clock.advance(by: .seconds(2)) })
    dispatcher.addProbe("probe", waitFor: ["reducing"], style: style, to: Recorder())
    let before = Dispatcher().addStage().dispatch(.runs { _ in clock.advance(by: .seconds(1)) })
    await before.ended()
    await dispatcher.dispatch(action: Ping(), mode: mode).ended()
    #expect(times.all == [[.zero, .zero], [.zero, .seconds(2)]])
  }

  /// Stores that run beside each other have values of their own.
  @Test func aThousandStoresKeepValuesOfTheirOwn() async {
    for number in 0..<1_000 { dispatcher.addStage("\(number)") }
    for _ in 0..<5 {
      let result = await dispatcher.dispatch(action: Script.suspends { _ in }).result
      #expect(result.isSuccess)
    }
    let names = tracer.steps.all.filter { $0.hasPrefix("did") }
    #expect(Dictionary(grouping: names, by: { $0 }).values.allSatisfy { $0.count == 5 })
    #expect(names.count == 5_000)
  }
}
