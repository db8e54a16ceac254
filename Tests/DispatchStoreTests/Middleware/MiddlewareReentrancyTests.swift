import DispatchStore
import Testing

@Suite(.timeLimit(.minutes(10)))
struct MiddlewareReentrancyTests {
  private let dispatcher = Dispatcher()
  private let steps = Recorder<String>()

  /// Dispatches an action in one of whose hooks another one is dispatched, and returns how both ended, in order.
  private func ends(
    outer: Dispatcher.Mode, inner: Dispatcher.Mode, inWillDispatch: Bool
  ) async -> [String] {
    let (dispatcher, steps) = (dispatcher, steps)
    let store = dispatcher.register(store: .counter("s"))
    let parents = Recorder<DispatchID?>()
    let dispatchInner: @Sendable () -> Void = {
      dispatcher.dispatch(CounterAction.add(10), mode: inner) {
        steps.record("inner \($0.isSuccess)")
      }
    }
    dispatcher.register(
      middleware: RecordingMiddleware(
        will: { transaction, action, _ in
          if action as? CounterAction != .add(1) {
            parents.record(transaction.parent)
          } else if inWillDispatch {
            dispatchInner()
          }
          return .pass
        },
        did: { _, action, _ in
          if action as? CounterAction == .add(1), !inWillDispatch { dispatchInner() }
        }))
    let handle = dispatcher.dispatch(CounterAction.add(1), mode: outer) {
      steps.record("outer \($0.isSuccess)")
    }
    let ends = await steps.first(2)
    #expect(Set(ends) == ["outer true", "inner true"])
    #expect(store.model.count == 11)
    #expect(parents.all == [handle.dispatchID])
    return ends
  }

  @Test(arguments: Dispatcher.Mode.everyMode, Dispatcher.Mode.everyMode)
  func willDispatchMayDispatchInEveryMode(outer: Dispatcher.Mode, inner: Dispatcher.Mode) async {
    let ends = await ends(outer: outer, inner: inner, inWillDispatch: true)
    // The inner dispatch ends first where both are on one lane or thread.
    if inner == .sync || (inner == outer && outer != .async) { #expect(ends[0] == "inner true") }
  }

  @Test(arguments: Dispatcher.Mode.everyMode, Dispatcher.Mode.everyMode)
  func didDispatchMayDispatchInEveryMode(outer: Dispatcher.Mode, inner: Dispatcher.Mode) async {
    let ends = await ends(outer: outer, inner: inner, inWillDispatch: false)
    if inner == .sync { #expect(ends[0] == "inner true") }
    // The outer dispatch holds its lane until its completion has run.
    if inner == outer, Dispatcher.Mode.laneModes.contains(outer) {
      #expect(ends[0] == "outer true")
    }
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func aVetoMayBeFollowedByADispatchOfAnotherAction(mode: Dispatcher.Mode) async {
    let dispatcher = dispatcher
    let store = dispatcher.register(store: .counter("s"))
    let steps = Recorder<String>()
    dispatcher.addProbe("p", to: steps)
    dispatcher.register(
      middleware: RecordingMiddleware(will: { _, action, _ in
        guard action is CounterAction else { return .pass }
        dispatcher.dispatch(action: Ping(), mode: mode) { steps.record("end") }
        return .veto(reason: "instead")
      }))
    let result = await dispatcher.dispatch(action: CounterAction.add(1), mode: mode).result
    #expect(result["s"].veto != nil)
    #expect(await steps.first(3) == ["+p", "-p", "end"])
    #expect(store.version == 0)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func hooksAreCalledOnSeveralThreadsAtOnce(mode: Dispatcher.Mode) async {
    let dispatcher = dispatcher
    dispatcher.register(store: .counter("s"))
    let inside = Recorder<Int>()
    dispatcher.register(
      middleware: RecordingMiddleware(will: { _, _, _ in
        inside.record(1)
        // Each hook waits for the other: with a lock held while hooks run, neither would return.
        inside.waitFor(2)
        return .pass
      }))
    let ends = Recorder<Bool>()
    await onOwnThreads(2) { _ in
      dispatcher.dispatch(CounterAction.add(1), mode: mode) { ends.record($0.isSuccess) }
    }
    #expect(await ends.first(2) == [true, true])
  }
}
