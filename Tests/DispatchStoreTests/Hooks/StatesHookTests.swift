import DispatchStore
import DispatchStoreTesting
import Foundation
import Testing

/// What hooks with states get of the actions that stores have handled.
@Suite(.timeLimit(.minutes(10)))
struct StatesHookTests {
  private let dispatcher = Dispatcher()

  @Test(arguments: Dispatcher.Mode.everyMode)
  func getsTheModelBeforeAndAfterEachAction(_ mode: Dispatcher.Mode) async throws {
    let counter = dispatcher.register(store: .counter("counter"))
    let recorder = StateRecorder<Counter, CounterAction>()
    dispatcher.register(recorder.hook)
    var transactions: [DispatchID] = []
    for amount in [1, 2] {
      let handle = counter.dispatch(.add(amount), mode: mode)
      #expect(await handle.result.isSuccess)
      transactions.append(handle.dispatchID)
    }
    let all = recorder.entries
    #expect(all.map(\.action) == [.add(1), .add(2)])
    #expect(all.map(\.oldModel.count) == [0, 1])
    #expect(all.map(\.newModel.count) == [1, 3])
    #expect(all.map(\.oldVersion) == [0, 1])
    #expect(all.map(\.newVersion) == [1, 2])
    #expect(all.map(\.commitCount) == [1, 1])
    #expect(all.map(\.run.dispatch.id) == transactions)
    #expect(all.allSatisfy { $0.storeIdentifier == "counter" && $0.run.outcome.isFinished })
  }

  /// A block, a callback on another thread, and a task.
  @Test(arguments: Dispatcher.Mode.everyMode)
  func getsAnActionOfSeveralCommitsOnce(_ mode: Dispatcher.Mode) async {
    dispatcher.addStage("stage")
    let recorder = StateRecorder<[String], Script>()
    dispatcher.register(recorder.hook)
    let scripts: [Script] = [
      .runs { stage in for name in ["a", "b"] { stage.updateModel { $0.append(name) } } },
      .controls { operation, _ in
        DispatchQueue.global().async {
          for name in ["c", "d", "e"] { operation.updateModel { $0.append(name) } }
          operation.finish()
        }
      },
      .suspends { stage in
        stage.updateModel { $0.append("f") }
        await Task.yield()
        stage.updateModel { $0.append("g") }
      },
    ]
    for script in scripts {
      #expect(await dispatcher.dispatch(action: script, mode: mode).result.isSuccess)
    }
    let all = recorder.entries
    #expect(all.map { $0.oldModel.joined() } == ["", "ab", "abcde"])
    #expect(all.map { $0.newModel.joined() } == ["ab", "abcde", "abcdefg"])
    #expect(all.map(\.commitCount) == [2, 3, 2])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func isCalledAfterTheObserversAndBeforeTheCompletion(_ mode: Dispatcher.Mode) async {
    let counter = dispatcher.register(store: .counter())
    let steps = Recorder<String>()
    let token = counter.observe(.model) { _ in steps.record("observer") }
    dispatcher.register(
      .states(of: counter) { old, new, run in
        steps.record("\(old.count) to \(new.count) by \(run.action)")
      })
    await counter.dispatch(.add(1), mode: mode) { _ in steps.record("completion") }.ended()
    #expect(steps.all == ["observer", "0 to 1 by add(1)", "completion"])
    token.cancel()
  }

  @Test func commitsOfOthersLieBetweenWhereTheyInterleave() async {
    let stage = dispatcher.addStage("stage")
    let recorder = StateRecorder<[String], Script>()
    dispatcher.register(recorder.hook)
    let (first, second) = (Latch(), Latch())
    let handle = stage.dispatch(
      .suspends { stage in
        stage.updateModel { $0.append("own") }
        first.open()
        await second.opened()
        stage.updateModel { $0.append("own") }
      })
    await first.opened()
    stage.updateModel { $0.append("other") }
    second.open()
    _ = await handle.result
    stage.updateModel { $0.append("later") }
    let all = recorder.entries
    #expect(all.map(\.oldModel) == [[]])
    #expect(all.map(\.newModel) == [["own", "other", "own"]])
    #expect(all.map { $0.newVersion - $0.oldVersion } == [3])
    #expect(all.map(\.commitCount) == [2])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func anActionThatCommitsNothingHasTheSameModelTwice(_ mode: Dispatcher.Mode) async {
    let stage = dispatcher.addStage("stage")
    let recorder = StateRecorder<[String], Script>()
    dispatcher.register(recorder.hook)
    stage.updateModel { $0.append("present") }
    _ = await stage.dispatch(.runs { _ in }, mode: mode).result
    #expect(recorder.entries.map(\.oldModel) == [["present"]])
    #expect(recorder.entries.map(\.newModel) == [["present"]])
    #expect(recorder.entries.map(\.newVersion) == [1])
    #expect(recorder.changes.isEmpty)
  }

  /// A commit to another store is not this action's there.
  @Test func whatAnActionCommitsToAnotherStoreIsNotItsOwnThere() async {
    let (one, other) = (dispatcher.addStage("one"), dispatcher.addStage("other"))
    let recorder = StateRecorder<[String], Script>()
    dispatcher.register(recorder.hook)
    _ = await other.dispatch(.adds("first")).result
    _ = await one.dispatch(.runs { _ in other.updateModel { $0.append("foreign") } }).result
    _ = await other.dispatch(.adds("last")).result
    let all = recorder.entries
    #expect(all.map(\.storeIdentifier) == ["other", "one", "other"])
    #expect(all.map(\.commitCount) == [1, 0, 1])
    #expect(all[2].oldModel == ["first", "foreign"])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func getsAFailedActionWithItsOutcome(_ mode: Dispatcher.Mode) async {
    let counter = dispatcher.register(store: .counter())
    let recorder = StateRecorder<Counter, CounterAction>()
    dispatcher.register(recorder.hook)
    _ = await counter.dispatch(.fail(2), mode: mode).result
    #expect(recorder.entries.map(\.newModel.count) == [2])
    #expect(recorder.entries[0].run.outcome.error is CounterFailure)
  }

  @Test func doesNotGetWhatWasVetoedOrCancelledBeforeItsStart() async {
    let counter = dispatcher.register(store: .counter())
    let recorder = StateRecorder<Counter, CounterAction>()
    dispatcher.register(recorder.hook)
    dispatcher.register(
      .before(CounterAction.self) { action, _ in
        action == .add(1) ? .veto(reason: "one") : .pass
      })
    _ = await counter.dispatch(.add(1)).result
    dispatcher.queue.isSuspended = true
    let handle = counter.dispatch(.add(2))
    handle.cancel()
    _ = await handle.result
    dispatcher.queue.isSuspended = false
    _ = await counter.dispatch(.add(3)).result
    #expect(recorder.actions == [.add(3)])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func doesNotGetWhatItsStoreDidNotGet(_ mode: Dispatcher.Mode) async {
    let steps = Recorder<String>()
    dispatcher.addProbe("fails", fails: true, to: steps)
    dispatcher.addProbe("waits", waitFor: ["fails"], to: steps)
    let recorder = StateRecorder<Int, Ping>()
    dispatcher.register(recorder.hook)
    _ = await dispatcher.dispatch(action: Ping(), mode: mode).result
    #expect(recorder.entries.map(\.storeIdentifier) == ["fails"])
    recorder.removeAll()
    dispatcher.register(.before(Ping.self) { _, _ in throw PingFailure() })
    let result = await dispatcher.dispatch(action: Ping(), mode: mode).result
    #expect(result["fails"].errorCode == .middlewareFailed)
    #expect(recorder.entries.isEmpty)
  }

  private static let atomicOptions: [DispatchOptions] = [
    .atomic, [.atomic, .retry(attempts: 2, where: { _ in false })],
  ]

  @Test(arguments: Dispatcher.Mode.everyMode, atomicOptions)
  func getsAnAtomicActionOfTheStoresThatGotIt(
    _ mode: Dispatcher.Mode, _ options: DispatchOptions
  ) async {
    for name in ["a", "b", "c"] {
      let reducer = FunctionReducer<Int, Ping> { count, _ in
        count += 1
        if name == "b" { throw PingFailure() }
      }
      dispatcher.register(store: ProbeStore(identifier: name, model: 0, reducer: reducer))
    }
    let recorder = StateRecorder<Int, Ping>()
    dispatcher.register(recorder.hook)
    let result = await dispatcher.dispatch(action: Ping(), mode: mode, options: options).result
    #expect(result.error is PingFailure)
    #expect(recorder.entries.map(\.storeIdentifier) == ["a", "b"])
    #expect(recorder.entries.allSatisfy { $0.newModel == 0 && $0.run.outcome.isFailed })
  }

  /// `shouldNotifyObservers` is false for notes.
  @Test func seesWhatAReducerWithholdsFromObserversAtTheEndOfTheAction() async {
    let reducer = ClosureReducer<Counter, CounterAction>(
      notifies: { if case .note = $0 { false } else { true } },
      answer: { action, store in
        ActionOperation(action: action, store: store) { action, store in
          if case .note(let note) = action { store.updateModel { $0.notes.append(note) } }
          if case .add(let amount) = action { store.updateModel { $0.count += amount } }
        }
      })
    let store = dispatcher.register(store: CounterStore(reducer: reducer))
    let recorder = StateRecorder<Counter, CounterAction>()
    dispatcher.register(recorder.hook)
    for action in [CounterAction.add(1), .note("a"), .add(2)] {
      _ = await store.dispatch(action).result
    }
    let all = recorder.entries
    #expect(all.map(\.oldModel.notes) == [[], [], ["a"]])
    #expect(all.map(\.newModel.notes) == [[], ["a"], ["a"]])
    #expect(all.map(\.commitCount) == [1, 1, 1])
  }

  @Test func tellsApartWithheldCommitsOfActionsThatOverlap() async {
    let (first, second) = (Latch(), Latch())
    let reducer = ClosureReducer<Counter, CounterAction>(
      notifies: { _ in false },
      answer: { action, store in
        ActionOperation(action: action, store: store) { action, store async in
          if action == .add(1) {
            store.updateModel { $0.count += 1 }
            first.open()
            await second.opened()
          } else {
            await first.opened()
            store.updateModel { $0.count += 2 }
            second.open()
          }
        }
      })
    let store = dispatcher.register(store: CounterStore(reducer: reducer))
    let recorder = StateRecorder<Counter, CounterAction>()
    dispatcher.register(recorder.hook)
    let handles = [1, 2].map { store.dispatch(.add($0)) }
    for handle in handles { #expect(await handle.result.isSuccess) }
    let all = recorder.entries.sorted { $0.oldVersion < $1.oldVersion }
    #expect(all.map(\.oldModel.count) == [0, 1])
    #expect(all.map(\.newModel.count) == [1, 3])
    #expect(all.map(\.commitCount) == [1, 1])
  }

  /// By the dispatcher's clock: two seconds in the block.
  @Test func measuresHowLongTheStoreTook() async {
    let clock = VirtualClock()
    let dispatcher = Dispatcher(clock: clock)
    let stage = dispatcher.addStage("stage")
    let recorder = StateRecorder<[String], Script>()
    dispatcher.register(recorder.hook)
    let (started, end) = (Latch(), Latch())
    let handle = stage.dispatch(.holds(opening: started, until: end))
    await started.opened()
    clock.advance(by: .seconds(2))
    end.open()
    _ = await handle.result
    #expect(recorder.entries.map(\.run.duration) == [.seconds(2)])
  }
}
