import DispatchStore
import Foundation
import Testing

@Suite("Applying an action", .timeLimit(.minutes(10)))
struct ApplyTests {
  let dispatcher = Dispatcher()

  /// A thread's first dispatch of a type looks the stores up, and so takes a longer way.
  private func warmUp() {
    dispatcher.dispatch(action: Errand("warm-up") { _ in }, mode: .sync)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func readsStoresThatItWaitsForAndUpdatesItsOwn(_ mode: Dispatcher.Mode) async {
    let second = dispatcher.addDesk("second", waitFor: ["first"])
    let first = dispatcher.addDesk("first")
    let third = dispatcher.addDesk("third", waitFor: ["second"])
    let errand = Errand { desk in
      switch desk.identifier {
      case "first": desk.updateModel { $0.append("1") }
      case "second":
        let before = first.model
        desk.updateModel { $0 = before + ["2"] }
      default:
        let before = second.withModel { $0 }
        desk.updateModel { $0 = before }
        desk.updateModel { $0.append("3") }
      }
    }
    for _ in 0..<3 {
      warmUp()
      #expect(await dispatcher.dispatch(action: errand, mode: mode).result.isSuccess)
    }
    #expect(second.model == ["1", "1", "1", "2"])
    #expect(third.model == ["1", "1", "1", "2", "3"])
    #expect(third.version == 6)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func endsAsItThrowsAndWhatItCommittedStays(_ mode: Dispatcher.Mode) async {
    let desk = dispatcher.addDesk()
    dispatcher.addDesk("waiting", waitFor: ["desk"])
    let errors: [any Error] = [StageFright(place: 3), CancellationError()]
    for error in errors {
      let errand = Errand { desk in
        desk.updateModel { $0.append("done") }
        throw error
      }
      warmUp()
      let result = await dispatcher.dispatch(action: errand, mode: mode).result
      #expect(result["desk"].error as? StageFright == error as? StageFright)
      #expect(result["desk"].isCancelled == (error is CancellationError))
      #expect(result["waiting"].errorCode == .dependencyFailed)
    }
    #expect(desk.model == ["done", "done"])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func deliversEachCommitWithItsActionAndTransactionBeforeTheEnd(_ mode: Dispatcher.Mode) async {
    let steps = Recorder<String>()
    dispatcher.addDesk("plain")
    let desk = dispatcher.addDesk("observed")
    dispatcher.addDesk("after")
    let token = desk.observe(.model) { steps.record("\($0.value) \($0.action!) \($0.dispatchID!)") }
    let errand = Errand("adds") { desk in
      for name in ["a", "b"] { desk.updateModel { $0 = [desk.identifier, name] } }
    }
    for hasMiddleware in [false, true] {
      if hasMiddleware { dispatcher.register(middleware: RecordingMiddleware(to: steps)) }
      warmUp()
      let before = steps.count
      let handle = dispatcher.dispatch(action: errand, mode: mode)
      #expect(await handle.result.isSuccess)
      let expected = ["a", "b"].map { #"["observed", "\#($0)"] adds \#(handle.dispatchID)"# }
      #expect(steps.all.dropFirst(before).filter { !$0.hasPrefix("m ") } == expected)
    }
    token.cancel()
  }

  /// The store has no observer when the action begins.
  @Test(arguments: Dispatcher.Mode.everyMode)
  func notifiesObserversThatAreAddedMeanwhile(_ mode: Dispatcher.Mode) async {
    let received = Recorder<Change<[String], Errand>>()
    let tokens = Recorder<ObserverToken>()
    let desk = dispatcher.addDesk()
    let errand = Errand("late") { desk in
      desk.updateModel { $0.append("before") }
      tokens.record(desk.observe(.model) { received.record($0) })
      desk.updateModel { $0.append("after") }
    }
    warmUp()
    let handle = dispatcher.dispatch(action: errand, mode: mode)
    #expect(await handle.result.isSuccess)
    #expect(received.all.map(\.value) == [["before", "after"]])
    #expect(received.all.map(\.action?.description) == ["late"])
    #expect(received.all.map(\.dispatchID) == [handle.dispatchID])
    desk.updateModel { $0 = [] }
    #expect(received.all[1].dispatchID == nil)
    for token in tokens.all { token.cancel() }
  }

  @Test(arguments: Dispatcher.Mode.everyMode, Dispatcher.Mode.everyMode)
  func isTheParentOfWhatItDispatches(_ outer: Dispatcher.Mode, _ inner: Dispatcher.Mode) async {
    let (other, parents) = (Dispatcher(), Recorder<DispatchID?>())
    other.addStage()
    other.register(
      middleware: RecordingMiddleware(will: { transaction, _, _ in
        parents.record(transaction.parent)
        return .pass
      }))
    dispatcher.addDesk()
    warmUp()
    let handle = dispatcher.dispatch(
      action: Errand { _ in other.dispatch(action: Script.adds("inner"), mode: inner) }, mode: outer
    )
    #expect(await parents.first(1) == [handle.dispatchID])
    _ = await handle.result
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func isItselfAgainAfterWhatItDispatchedToRunAtOnce(_ mode: Dispatcher.Mode) async {
    let (dispatcher, received) = (dispatcher, Recorder<DispatchID?>())
    let inner = Recorder<DispatchID>()
    dispatcher.addStage()
    let desk = dispatcher.addDesk()
    let token = desk.observe(.model) { received.record($0.dispatchID) }
    let errand = Errand { desk in
      @Sendable func dispatch(_ action: Errand) {
        inner.record(dispatcher.dispatch(action: action, mode: .sync).dispatchID)
      }
      // Before another thread can know of it, and after.
      dispatch(.adds("inner"))
      desk.updateModel { $0.append("outer") }
      dispatch(Errand { _ in })
      dispatch(Errand { _ in dispatch(.adds("innermost")) })
      dispatcher.dispatch(action: Script.adds("other store"), mode: .sync)
      desk.updateModel { $0.append("outer") }
    }
    warmUp()
    let outer = dispatcher.dispatch(action: errand, mode: mode)
    #expect(await outer.result.isSuccess)
    #expect(desk.model == ["inner", "outer", "innermost", "outer"])
    #expect(
      received.all == [inner.all[0], outer.dispatchID, inner.all[2], outer.dispatchID])
    token.cancel()
  }

  /// Records that are made for both, the inner one first, leave nothing behind on the thread.
  @Test func isForgottenByItsThreadOnceItHasEnded() async {
    let (dispatcher, parents) = (dispatcher, Recorder<DispatchID?>())
    let desk = dispatcher.addDesk()
    let token = desk.observe(.model) { _ in }
    let other = Dispatcher()
    other.addStage()
    other.register(
      middleware: RecordingMiddleware(will: { transaction, _, _ in
        parents.record(transaction.parent)
        return .pass
      }))
    let outer = await onOwnThread {
      let errand = Errand { desk in
        dispatcher.dispatch(action: Errand.adds("inner"), mode: .sync)
        desk.updateModel { $0.append("outer") }
        other.dispatch(action: Script.adds("inside"), mode: .sync)
      }
      warmUp()
      let handle = dispatcher.dispatch(action: errand, mode: .sync)
      other.dispatch(action: Script.adds("after"), mode: .sync)
      return handle
    }
    #expect(parents.all == [outer.dispatchID, nil])
    #expect(desk.model == ["inner", "outer"])
    token.cancel()
  }

  @Test(arguments: Dispatcher.Mode.laneModes)
  func isRefusedAWaitForWhatComesAfterItInItsLane(_ mode: Dispatcher.Mode) async {
    let (dispatcher, results) = (dispatcher, Recorder<DispatchResult>())
    dispatcher.addStage()
    dispatcher.addDesk()
    let waiting = Errand { _ in
      self.warmUp()
      let next = dispatcher.dispatch(action: Errand.adds("next"), mode: mode)
      let waiting = dispatcher.dispatch(
        action: Errand.adds("waits"), mode: .sync, options: .after(next))
      results.record(waiting.resultIfEnded!)
    }
    warmUp()
    _ = await dispatcher.dispatch(action: waiting, mode: mode).result
    // The same from inside a `.sync` dispatch, which holds nothing itself.
    let around = Errand { _ in dispatcher.dispatch(action: waiting, mode: .sync) }
    _ = await dispatcher.dispatch(action: around, mode: mode).result
    #expect(results.all.map(\.errorCode) == [.wouldDeadlock, .wouldDeadlock])
  }

  /// The notifier of one store does not wait for that of another.
  @Test func insideAnObserverItMayLeaveItsCommitsToAnotherNotifier() async {
    let dispatcher = dispatcher
    let (first, second) = (dispatcher.addDesk("first"), dispatcher.addDesk("second"))
    let (isNotifying, mayContinue) = (Latch(), Latch())
    let (handles, received) = (Recorder<DispatchHandle>(), Recorder<[String]>())
    let slow = second.observe(.model) { change in
      if change.value == ["slow"] {
        isNotifying.open()
        mayContinue.wait()
      }
      received.record(change.value)
    }
    let nesting = first.observe(.model) { change in
      guard change.value == ["first"] else { return }
      dispatcher.dispatch(storeIdentifier: "second", action: Errand { _ in }, mode: .sync)
      handles.record(
        dispatcher.dispatch(storeIdentifier: "second", action: Errand.adds("left"), mode: .sync))
    }
    async let notifier: Void = onOwnThread { second.updateModel { $0.append("slow") } }
    await isNotifying.opened()
    await onOwnThread { first.updateModel { $0.append("first") } }
    let handle = handles.all[0]
    #expect(!handle.hasEnded)
    mayContinue.open()
    await notifier
    #expect(await handle.result.isSuccess)
    #expect(received.all == [["slow"], ["slow", "left"]])
    slow.cancel()
    nesting.cancel()
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func isDoneForAStoreThatIsHeldWeakly(_ mode: Dispatcher.Mode) async {
    let desk = Desk(identifier: "weak", model: [], reducer: ErrandReducer())
    dispatcher.register(store: desk, ownership: .weak)
    #expect(await dispatcher.dispatch(action: Errand.adds("a"), mode: mode).result.isSuccess)
    #expect(desk.model == ["a"])
  }
}
