import DispatchStore
import Foundation
import Testing

/// What an action holds and a completion captures is released when the dispatch has ended.
@Suite("Release of payloads", .timeLimit(.minutes(10)))
struct PayloadReleaseTests {
  /// Whether the dispatching code keeps the handle.
  enum Handle: CaseIterable, Sendable {
    case kept, dropped
  }

  /// An action that holds an object.
  private struct Payload: ActionType {
    let object: Mortal
  }

  private final class PayloadReducer: Reducer<Int, Payload> {
    override func reduce(into model: inout Int, action: Payload) { model += 1 }
  }

  /// How the store responds.
  enum Answer: CaseIterable, Sendable {
    case reduction, returning, callback, suspending
  }

  let dispatcher = Dispatcher()

  private func addStore(_ answer: Answer) {
    let reducer: Reducer<Int, Payload>
    switch answer {
    case .reduction:
      dispatcher.register(store: Store(identifier: "store", model: 0, reducer: PayloadReducer()))
      return
    case .returning:
      reducer = ClosureReducer { action, store in
        ActionOperation(action: action, store: store) { _, store in store.updateModel { $0 += 1 } }
      }
    case .callback:
      reducer = ClosureReducer { action, store in
        ActionOperation(action: action, store: store) { operation, _, _ in
          DispatchQueue.global().async { operation.finish() }
        }
      }
    case .suspending:
      reducer = ClosureReducer { action, store in
        ActionOperation(action: action, store: store) { _, _ in await Task.yield() }
      }
    }
    dispatcher.register(store: Store(identifier: "store", model: 0, reducer: reducer))
  }

  @Test(arguments: Dispatcher.Mode.everyMode, Answer.allCases)
  func happensAtTheEndInEveryModeWithoutAnotherDispatch(
    _ mode: Dispatcher.Mode, _ answer: Answer
  ) async {
    addStore(answer)
    for handle in Handle.allCases {
      let (released, mayGo) = (EventCount(of: 2), Latch())
      let dispatcher = dispatcher
      Thread {
        let dispatched = Self.dispatch(to: dispatcher, mode, released)
        let kept = handle == .kept ? dispatched : nil
        // The thread stays alive, and does nothing more.
        mayGo.wait()
        withExtendedLifetime(kept) {}
      }.start()
      await released.full()
      mayGo.open()
    }
  }

  private static func dispatch(
    to dispatcher: Dispatcher, _ mode: Dispatcher.Mode, _ released: EventCount
  ) -> DispatchHandle {
    let captured = Mortal(released)
    return dispatcher.dispatch(action: Payload(object: Mortal(released)), mode: mode) {
      withExtendedLifetime(captured) {}
    }
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func happensAtTheEndOfASequenceToo(_ mode: Dispatcher.Mode) async {
    addStore(.reduction)
    let (released, ended) = (EventCount(of: 4), Latch())
    let handle: DispatchHandle
    do {
      let actions = (0..<3).map { _ in Payload(object: Mortal(released)) }
      let captured = Mortal(released)
      handle = dispatcher.dispatch(actions: actions, mode: mode) {
        withExtendedLifetime(captured) { ended.open() }
      }
    }
    await ended.opened()
    await released.full()
    #expect(await handle.result.steps.count == 3)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func happensAtTheEndAlsoWhenNoStoreResponds(_ mode: Dispatcher.Mode) async {
    let released = EventCount(of: 2)
    let handle: DispatchHandle
    do {
      let (payload, captured) = (Mortal(released), Mortal(released))
      handle = dispatcher.dispatch(action: Payload(object: payload), mode: mode) {
        withExtendedLifetime(captured) {}
      }
    }
    await released.full()
    #expect(await !handle.result.hasResponders)
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func happensAlsoAfterACancellationBeforeTheStart(_ mode: Dispatcher.Mode) async {
    addStore(.reduction)
    dispatcher.addStage()
    let (released, mayEnd) = (EventCount(of: 2), Latch())
    let first = dispatcher.dispatch(
      action: Script.suspends { _ in await mayEnd.opened() }, mode: mode)
    let handle: DispatchHandle
    do {
      let (payload, captured) = (Mortal(released), Mortal(released))
      handle = dispatcher.dispatch(
        action: Payload(object: payload), mode: mode, options: .after(first)
      ) { withExtendedLifetime(captured) {} }
    }
    handle.cancel()
    #expect(await handle.result["store"].isCancelled == true)
    mayEnd.open()
    #expect(await first.result.isSuccess)
    await released.full()
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func happensAtTheEndOfAChainOfDispatchesThatWaitForEachOther(_ mode: Dispatcher.Mode) async {
    addStore(.reduction)
    let released = EventCount(of: 200)
    var handles: [DispatchHandle] = []
    for _ in 0..<100 {
      let options = DispatchOptions.after(Array(handles.suffix(1)))
      let captured = Mortal(released)
      handles.append(
        dispatcher.dispatch(
          action: Payload(object: Mortal(released)), mode: mode, options: options
        ) { withExtendedLifetime(captured) {} })
    }
    for handle in handles { #expect(await handle.result.isSuccess) }
    await released.full()
  }

  private struct Ask: ActionType { typealias Reply = Mortal }

  /// Its last reference is that of the dispatch which waits, while that starts or is cancelled.
  @Test(arguments: [Dispatcher.Mode.async, .serial, .serial(lane: 1)], [false, true])
  func ofAReplyHappensUnderNoLockOfTheDispatchThatHasWaited(
    _ mode: Dispatcher.Mode, isCancelled: Bool
  ) async {
    let (handles, free, released) = (Recorder<DispatchHandle>(), Latch(), Latch())
    let other = Dispatcher(queue: .wide(1))
    other.register(
      store: Store(identifier: "asked", model: 0) {
        Perform(Ask.self) { _, _ in
          await free.opened()
          return Mortal {
            handles.all.first?.cancel()
            released.open()
          }
        }
      })
    other.addStage()
    dispatcher.addStage()
    dispatcher.queue.isSuspended = true
    handles.record(
      dispatcher.dispatch(
        action: Script.adds("x"), mode: mode,
        options: .after(other.dispatch(action: Ask(), mode: .serial))))
    free.open()
    // Its turn comes once the thread has let go of the first one.
    await other.dispatch(action: Script.adds("y"), mode: .serial).ended()
    #expect(!released.isOpen)
    if isCancelled { handles.all[0].cancel() }
    dispatcher.queue.isSuspended = false
    await released.opened()
    await handles.all[0].ended()
  }
}
