import DispatchStore
import Foundation
import Testing

@Suite("Handles of dispatches that have ended", .timeLimit(.minutes(10)))
struct EndedHandleTests {
  let dispatcher = Dispatcher()
  let store: CounterStore

  init() {
    store = dispatcher.register(store: .counter("counter"))
  }

  /// How a dispatch can have ended.
  enum End: CaseIterable, Sendable {
    case finished, failed, cancelled, withoutResponder, sequence

    func dispatch(to dispatcher: Dispatcher, _ mode: Dispatcher.Mode) -> DispatchHandle {
      switch self {
      case .finished:
        return dispatcher.dispatch(action: CounterAction.add(1), mode: mode)
      case .failed:
        return dispatcher.dispatch(action: CounterAction.fail(1), mode: mode)
      case .cancelled:
        let handle = dispatcher.dispatch(action: CounterAction.add(1), mode: mode)
        handle.cancel()
        return handle
      case .withoutResponder:
        return dispatcher.dispatch(action: Ping(), mode: mode)
      case .sequence:
        let actions = (0..<3).map { CounterAction.add($0) }
        return dispatcher.dispatch(actions: actions, mode: mode)
      }
    }
  }

  @Test(arguments: Dispatcher.Mode.everyMode, Dispatcher.Mode.everyMode)
  func delayNothing(_ mode: Dispatcher.Mode, _ later: Dispatcher.Mode) async {
    for end in End.allCases {
      let ended = end.dispatch(to: dispatcher, mode)
      _ = await ended.result
      // `ended` has ended long before `after` is dispatched.
      for _ in 0..<100 {
        _ = await dispatcher.dispatch(action: CounterAction.add(1), mode: later).result
      }
      let after = dispatcher.dispatch(
        action: CounterAction.note("\(end)"), mode: later, options: .after(ended, ended))
      #expect(await after.result.isSuccess)
    }
    #expect(store.model.notes == End.allCases.map { "\($0)" })
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func areSkippedWhileTheOthersInAfterAreWaitedFor(_ mode: Dispatcher.Mode) async {
    dispatcher.addStage()
    var handles: [DispatchHandle] = []
    for other in Dispatcher.Mode.everyMode {
      handles.append(dispatcher.dispatch(action: CounterAction.add(1), mode: other))
    }
    for handle in handles { _ = await handle.result }
    let (mayEnd, log) = (Latch(), Recorder<String>())
    let running = dispatcher.dispatch(
      action: Script.suspends { _ in
        await mayEnd.opened()
        log.record("running")
      }, mode: .serial(lane: "running"))
    let options = DispatchOptions.after(handles + [running] + handles)
    let dispatcher = dispatcher
    let ends = Recorder<Bool>()
    Thread {
      let action = Script.runs { _ in log.record("after") }
      dispatcher.dispatch(action, mode: mode, options: options) {
        ends.record($0.isSuccess)
      }
    }.start()
    mayEnd.open()
    #expect(await ends.first(1) == [true])
    #expect(log.all == ["running", "after"])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func mayBeWaitedForOnceTheirDispatcherIsGone(_ mode: Dispatcher.Mode) async {
    let handle: DispatchHandle
    do {
      let other = Dispatcher()
      other.register(store: .counter("other"))
      handle = other.dispatch(action: CounterAction.add(1), mode: mode)
    }
    #expect(await handle.result["other"].isFinished == true)
    let after = dispatcher.dispatch(
      action: CounterAction.add(1), mode: mode, options: .after(handle))
    #expect(await after.result.isSuccess)
    #expect(await handle.result["other"].isFinished == true)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func keepTheirHashAndEquality(_ mode: Dispatcher.Mode) async {
    var indices: [DispatchHandle: Int] = [:]
    var handles: [DispatchHandle] = []
    for index in 0..<500 {
      let handle = dispatcher.dispatch(action: CounterAction.add(1), mode: mode)
      indices[handle] = index
      handles.append(handle)
    }
    #expect(indices.count == 500)
    #expect(handles.enumerated().allSatisfy { indices[$1] == $0 })
    let hashes = handles.map(\.hashValue)
    for handle in handles { _ = await handle.result }
    #expect(handles.allSatisfy { $0.hasEnded })
    #expect(handles.map(\.hashValue) == hashes)
    let copies = handles
    #expect(copies.enumerated().allSatisfy { indices[$1] == $0 })
    // Handles of later dispatches are other keys.
    for _ in 0..<500 {
      let handle = dispatcher.dispatch(action: CounterAction.add(1), mode: mode)
      _ = await handle.result
      #expect(indices[handle] == nil)
    }
    #expect(Set(handles.map(\.dispatchID)).count == 500)
  }
}
