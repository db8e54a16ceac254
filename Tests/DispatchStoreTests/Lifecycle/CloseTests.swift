import Testing

@testable import DispatchStore

@Suite("Closing a dispatcher", .timeLimit(.minutes(10)))
struct CloseTests {
  static let modes = Dispatcher.Mode.everyMode

  let dispatcher = Dispatcher(name: "closing")
  let log = Recorder<String>()

  @Test(arguments: modes)
  func refusesWhatComesFromOutside(mode: Dispatcher.Mode) async {
    let stage = dispatcher.addStage()
    dispatcher.register(middleware: RecordingMiddleware(to: log))
    #expect(await dispatcher.dispatch(action: Script.adds("a"), mode: mode).result.isSuccess)
    let hooks = log.count
    dispatcher.close()
    #expect(dispatcher.isClosed)
    let completions = Recorder<DispatchError.Code?>()
    let one = dispatcher.dispatch(Script.adds("b"), mode: mode) {
      completions.record($0.errorCode)
    }
    #expect(await one.result.errorCode == .dispatcherClosed)
    let list = dispatcher.dispatch(actions: [Script.adds("c"), Script.adds("d")], mode: mode) {
      completions.record(.dispatcherClosed)
    }
    #expect(await list.result.errorCode == .dispatcherClosed)
    let unknown = dispatcher.dispatch(
      storeIdentifier: "unknown", action: Script.adds("e"), mode: mode)
    #expect(await unknown.result.errorCode == .dispatcherClosed)
    #expect(await completions.first(2) == [.dispatcherClosed, .dispatcherClosed])
    #expect(stage.model == ["a"])
    #expect(log.count == hooks, "No hook is called.")
  }

  /// A client that tries again in the completion would otherwise keep a drain from ending.
  @Test(arguments: modes, modes)
  func refusesWhatTheCompletionOfARefusedDispatchDispatches(
    mode: Dispatcher.Mode, inner: Dispatcher.Mode
  ) async {
    let (stage, dispatcher) = (dispatcher.addStage(), dispatcher)
    dispatcher.close()
    let codes = Recorder<DispatchError.Code?>()
    @Sendable func tryAgain() {
      dispatcher.dispatch(Script.adds("again"), mode: inner) { codes.record($0.errorCode) }
    }
    dispatcher.dispatch(Script.adds("a"), mode: mode) { _ in tryAgain() }
    dispatcher.dispatch(actions: [Script.adds("b"), Script.adds("c")], mode: mode) { tryAgain() }
    await dispatcher.send(Script.adds("d"), then: { _ in tryAgain() })
    #expect(await codes.first(3).allSatisfy { $0 == .dispatcherClosed })
    #expect(stage.model.isEmpty)
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func refusesWhatTasksSend(mode: Dispatcher.Mode) async {
    dispatcher.addStage()
    dispatcher.close()
    let result = await dispatcher.send(Script.adds("a"), mode: mode)
    #expect(result.errorCode == .dispatcherClosed)
  }

  /// Also by a store, whose route the thread has.
  @Test func refusesWhatAStoreDispatches() {
    let store = dispatcher.register(store: CounterStore.counter())
    for _ in 0..<3 { store.dispatch(.add(1), mode: .sync) }
    dispatcher.close()
    #expect(
      store.dispatch(.add(1), mode: .sync).resultIfEnded?.errorCode == .dispatcherClosed)
    #expect(store.model.count == 3)
  }

  /// Of what is dispatched inside an exclusive section, too.
  @Test func refusesWhatASectionOutsideOfDispatchesDispatches() async {
    let stage = dispatcher.addStage()
    dispatcher.close()
    let handles = Recorder<DispatchHandle>()
    stage.updateModel { _ in
      handles.record(dispatcher.dispatch(action: Script.adds("a"), mode: .serial))
      handles.record(dispatcher.dispatch(actions: [Script.adds("b")], mode: .serial))
    }
    for handle in handles.all { #expect(await handle.result.errorCode == .dispatcherClosed) }
    #expect(stage.model.isEmpty)
  }

  @Test(arguments: modes, modes)
  func acceptsWhatWorkUnderWayDispatches(
    mode: Dispatcher.Mode, inner: Dispatcher.Mode
  ) async {
    let (stage, dispatcher, log) = (dispatcher.addStage(), dispatcher, log)
    let token = stage.observe(.model) { change in
      guard change.value.last == "a" else { return }
      dispatcher.dispatch(action: Script.adds("by an observer"), mode: inner) {
        log.record("observer's")
      }
    }
    let handle = dispatcher.dispatch(
      action: Script.runs { stage in
        dispatcher.close()
        stage.updateModel { $0.append("a") }
        dispatcher.dispatch(actions: [Script.adds("x"), Script.adds("y")], mode: inner) {
          log.record("list's")
        }
      }, mode: mode
    ) {
      dispatcher.dispatch(action: Script.adds("by a completion"), mode: inner) {
        dispatcher.dispatch(action: Script.adds("by its completion"), mode: inner) {
          log.record("chain's")
        }
      }
    }
    #expect(await handle.result.isSuccess)
    let report = await dispatcher.drain()
    #expect(report.isComplete)
    #expect(Set(log.all) == ["observer's", "list's", "chain's"])
    #expect(
      Set(stage.model) == [
        "a", "by an observer", "x", "y", "by a completion", "by its completion",
      ])
    #expect(
      await dispatcher.dispatch(action: Script.adds("z")).result.errorCode == .dispatcherClosed)
    withExtendedLifetime(token) {}
  }

  @Test(arguments: modes, modes)
  func acceptsWhatTheHookOfAListDispatches(mode: Dispatcher.Mode, inner: Dispatcher.Mode) async {
    let (stage, dispatcher) = (dispatcher.addStage(), dispatcher)
    dispatcher.register(
      middleware: ListHook { _ in
        dispatcher.close()
        dispatcher.dispatch(action: Script.adds("by a hook"), mode: inner)
      })
    let list = dispatcher.dispatch(actions: [Script.adds("x"), Script.adds("y")], mode: mode)
    #expect(await list.result.isSuccess)
    #expect(await dispatcher.drain().isComplete)
    #expect(Set(stage.model) == ["by a hook", "x", "y"])
  }

  /// The child tasks of its blocks, too.
  @Test(arguments: modes)
  func acceptsWhatTheTasksOfABlockDispatch(mode: Dispatcher.Mode) async {
    let (stage, dispatcher) = (dispatcher.addStage(), dispatcher)
    dispatcher.addStage("other")
    let handle = dispatcher.dispatch(
      storeIdentifier: "stage",
      action: Script.suspends { _ in
        dispatcher.close()
        await withDiscardingTaskGroup { group in
          for index in 0..<4 {
            group.addTask {
              await Task.yield()
              let sent = await dispatcher.send(
                Script.adds("\(index)"), to: "other", mode: .serial(lane: index))
              #expect(sent.isSuccess)
            }
          }
        }
      }, mode: mode)
    #expect(await handle.result.isSuccess)
    #expect(stage.model.isEmpty)
    #expect((dispatcher.store(with: "other") as? Stage)?.model.count == 4)
  }

  /// An unstructured task that a block has started may go on after its dispatch.
  @Test(arguments: modes)
  func refusesWhatATaskDispatchesThatHasOutlivedItsDispatch(mode: Dispatcher.Mode) async {
    let (dispatcher, ended, results) = (dispatcher, Latch(), Recorder<DispatchError.Code?>())
    dispatcher.addStage()
    let handle = dispatcher.dispatch(
      action: Script.suspends { _ in
        Task {
          await ended.opened()
          let late = dispatcher.dispatch(action: Script.adds("late"), mode: .serial)
          results.record(await late.result.errorCode)
        }
      }, mode: mode)
    #expect(await handle.result.isSuccess)
    #expect(await dispatcher.drain().isComplete)
    ended.open()
    #expect(await results.first(1) == [.dispatcherClosed])
  }

  /// The task looks at its own dispatch alone: other threads go on with the sequence around it, and end that.
  @Test(arguments: modes)
  func aTaskThatAStepHasMadeMayDispatchWhileItsSequenceGoesOn(mode: Dispatcher.Mode) async {
    let (dispatcher, other) = (dispatcher, Dispatcher())
    dispatcher.addStage()
    other.addStage()
    other.close()
    let ended = EventCount(of: 3 * Load.count(20))
    let step = Script.suspends { stage in
      Task {
        for _ in 0..<10 { other.dispatch(action: Script.adds("no"), mode: .serial) }
        ended.add()
      }
      await Task.yield()
      stage.updateModel { $0.append("yes") }
    }
    for _ in 0..<Load.count(20) {
      let steps = [step, .adds("a"), step, .adds("b"), step]
      #expect(await dispatcher.dispatch(actions: steps, mode: mode).result.isSuccess)
    }
    await ended.full()
  }

  @Test(arguments: modes)
  func shuttingDownRefusesAlsoWhatWorkUnderWayDispatches(mode: Dispatcher.Mode) async {
    let (stage, dispatcher, log) = (dispatcher.addStage(), dispatcher, log)
    let handle = dispatcher.dispatch(
      action: Script.runs { stage in
        dispatcher.shutDown()
        dispatcher.dispatch(Script.adds("no"), mode: .async) {
          log.record("\($0.errorCode == .dispatcherClosed)")
        }
        stage.updateModel { $0.append("yes") }
      }, mode: mode)
    #expect(await handle.result.isSuccess)
    #expect(await log.first(1) == ["true"])
    #expect(stage.model == ["yes"])
  }

  @Test(arguments: modes)
  func anAcceptedListRunsToItsEndAlsoAfterAShutDown(mode: Dispatcher.Mode) async {
    let (stage, dispatcher) = (dispatcher.addStage(), dispatcher)
    let first = Script.runs { stage in
      dispatcher.shutDown()
      stage.updateModel { $0.append("a") }
    }
    let list = dispatcher.dispatch(
      actions: [first, Script.adds("b"), Script.adds("c")], mode: mode)
    #expect(await list.result.isSuccess)
    #expect(stage.model == ["a", "b", "c"])
    #expect(await dispatcher.drain().isComplete)
  }

  @Test(arguments: Dispatcher.Mode.laneModes)
  func aQueuedListRunsAlsoAfterAShutDown(mode: Dispatcher.Mode) async {
    let (stage, began, free) = (dispatcher.addStage(), Latch(), Latch())
    dispatcher.dispatch(action: Script.holds(opening: began, until: free), mode: mode)
    await began.opened()
    let list = dispatcher.dispatch(actions: [Script.adds("a"), Script.adds("b")], mode: mode)
    dispatcher.shutDown()
    free.open()
    #expect(await list.result.isSuccess)
    #expect(stage.model == ["a", "b"])
    #expect(await dispatcher.drain().isComplete)
  }

  /// What another dispatcher's work dispatches comes from outside.
  @Test func refusesWhatTheWorkOfAnotherDispatcherDispatches() async {
    let (other, dispatcher, log) = (Dispatcher(name: "other"), dispatcher, log)
    other.addStage()
    dispatcher.addStage()
    dispatcher.close()
    let script = Script.runs { _ in
      let result = dispatcher.dispatch(action: Script.adds("a"), mode: .sync).resultIfEnded
      log.record("\(result?.errorCode == .dispatcherClosed)")
    }
    #expect(await other.dispatch(action: script, mode: .serial).result.isSuccess)
    #expect(log.all == ["true"])
  }
}
