import DispatchStore
import DispatchStoreTesting
import Foundation
import Testing

/// The word that a task-local value carries.
private enum Word {
  @TaskLocal static var spoken = "none"
}

/// What changes a store: each runs the closure inside the exclusive section of store "held".
enum SectionPlace: CaseIterable {
  case update, throwingUpdate, observedUpdate, read, reduction, observedReduction

  /// Keeps an observer where the store is to be observed.
  func run(
    _ dispatcher: Dispatcher, _ events: Recorder<String>, _ body: @escaping @Sendable () -> Void
  ) {
    let held = dispatcher.register(store: CounterStore.counter("held"))
    let token =
      self == .observedUpdate || self == .observedReduction
      ? held.observe(.model) { _ in events.record("observed") } : nil
    switch self {
    case .update, .observedUpdate:
      held.updateModel { model in
        model.count += 1
        body()
      }
    case .throwingUpdate:
      try? held.updateModel { (_: inout Counter) throws in
        body()
        throw CounterFailure()
      }
    case .read:
      held.withModel { _ in body() }
    case .reduction, .observedReduction:
      let reducing = dispatcher.register(store: .reducing("reducing", body))
      let other = reducing.observe(.model) { _ in events.record("observed") }
      if self == .reduction { other.cancel() }
      reducing.dispatch(Ping(), mode: .sync)
    }
    withExtendedLifetime(token) {}
    events.record("left")
  }
}

@Suite("A dispatch from inside an exclusive section", .timeLimit(.minutes(10)))
struct SectionDispatchTests {
  private static let modes = Dispatcher.Mode.queuedModes

  @Test(arguments: SectionPlace.allCases)
  func isAcceptedOnceThatIsLeft(place: SectionPlace) async {
    let (dispatcher, events) = (Dispatcher(), Recorder<String>())
    let stage = dispatcher.addStage()
    dispatcher.register(
      middleware: RecordingMiddleware(will: { transaction, action, store in
        guard store.identifier == "stage" else { return .pass }
        // Stopped the program when the section was still held.
        _ = stage.model
        events.record("will \(action)")
        return .pass
      }))
    let handles = Recorder<DispatchHandle>()
    place.run(dispatcher, events) {
      for mode in Self.modes {
        handles.record(stage.dispatch(.adds("\(mode)"), mode: mode))
      }
      handles.record(
        dispatcher.dispatch(
          storeIdentifier: "stage", actions: [Script.adds("first"), Script.adds("second")]))
      events.record("dispatched")
    }
    #expect(handles.count == Self.modes.count + 1)
    for handle in handles.all { #expect(await handle.result.isSuccess) }
    let expected = ["dispatched"] + Self.modes.map { "will \($0)" }
    #expect(Array(events.all.prefix(expected.count)) == expected)
    if place == .observedUpdate || place == .observedReduction {
      // Hooks of the sequence's actions are called in its lane, perhaps meanwhile.
      let others = events.all.filter { !["will first", "will second"].contains($0) }
      #expect(others.firstIndex(of: "observed") == expected.count)
    }
  }

  @Test(arguments: SectionPlace.allCases)
  func isOfTheRegistryAsItIsThen(place: SectionPlace) async {
    let (dispatcher, events) = (Dispatcher(), Recorder<String>())
    let handles = Recorder<DispatchHandle>()
    place.run(dispatcher, events) {
      handles.record(dispatcher.dispatch(action: Script.adds("late"), mode: .serial))
      dispatcher.addStage()
    }
    let result = await handles.all[0].result
    #expect(result.stores.map(\.storeIdentifier) == ["stage"])
  }

  @Test(arguments: SectionPlace.allCases)
  func cancelledInTheSectionNothingOfItRuns(place: SectionPlace) async {
    let (dispatcher, events) = (Dispatcher(), Recorder<String>())
    let stage = dispatcher.addStage()
    dispatcher.register(
      middleware: RecordingMiddleware(will: { _, _, store in
        if store.identifier == "stage" { events.record("will") }
        return .pass
      }))
    let handles = Recorder<DispatchHandle>()
    let completions = Recorder<DispatchResult>()
    place.run(dispatcher, events) {
      for mode in Self.modes {
        let handle = stage.dispatch(.adds("\(mode)"), mode: mode) { completions.record($0) }
        handle.cancel()
        handles.record(handle)
      }
      let handle = dispatcher.dispatch(actions: [Script.adds("sequence")])
      handle.whenEnded { completions.record($0) }
      handle.cancel()
      handles.record(handle)
    }
    for handle in handles.all { #expect(await handle.result.error is CancellationError) }
    #expect(await completions.first(handles.count).count == handles.count)
    #expect(stage.version == 0)
    #expect(!events.all.contains("will"))
  }

  /// The lane is held meanwhile, so that the dispatch can't have started.
  @Test(arguments: SectionPlace.allCases, [false, true])
  func cancelledByItsHookItEndsWithoutHavingRun(place: SectionPlace, isSequence: Bool) async {
    let (dispatcher, events) = (Dispatcher(), Recorder<String>())
    let stage = dispatcher.addStage()
    let handles = Recorder<DispatchHandle>()
    dispatcher.register(
      middleware: RecordingMiddleware(will: { _, action, _ in
        if "\(action)" == "inner" { handles.all[0].cancel() }
        return .pass
      }))
    let outer = dispatcher.dispatch(
      storeIdentifier: "stage",
      action: Script.runs("outer") { _ in
        place.run(dispatcher, events) {
          handles.record(
            isSequence
              ? dispatcher.dispatch(storeIdentifier: "stage", actions: [Script.adds("inner")])
              : stage.dispatch(.adds("inner"), mode: .serial))
          if isSequence { handles.all[0].cancel() }
        }
      }, mode: .serial)
    #expect(await outer.result.isSuccess)
    #expect(await handles.all[0].result.error is CancellationError)
    #expect(await stage.dispatch(.adds("next"), mode: .serial).result.isSuccess)
    #expect(stage.model == ["next"])
  }

  /// A hook runs with the delivery turn of the store: waiting for that would never end.
  @Test(arguments: SectionPlace.allCases)
  func itsHooksMayChangeTheSameStore(place: SectionPlace) async {
    let (dispatcher, events) = (Dispatcher(), Recorder<String>())
    let stage = dispatcher.addStage()
    dispatcher.register(
      middleware: RecordingMiddleware(will: { _, _, store in
        guard store.identifier == "stage" else { return .pass }
        let held = (dispatcher.store(with: "held") as! CounterStore)
        held.dispatch(.add(10), mode: .sync)
        // A section inside the hook, whose dispatch is accepted when that one is left.
        held.updateModel { _ in
          _ = held.dispatch(.add(1), mode: .serial) { _ in events.record("nested") }
        }
        return .pass
      }))
    let handles = Recorder<DispatchHandle>()
    place.run(dispatcher, events) {
      handles.record(stage.dispatch(.adds("a"), mode: .serial))
      handles.record(stage.dispatch(.adds("b"), mode: .serial))
    }
    for handle in handles.all { #expect(await handle.result.isSuccess) }
    #expect(stage.model == ["a", "b"])
    _ = await dispatcher.dispatch(action: Script.runs { _ in }, mode: .serial).result
    #expect(events.all.count { $0 == "nested" } >= 2)
    #expect((dispatcher.store(with: "held") as! CounterStore).model.count >= 22)
  }

  @Test(arguments: SectionPlace.allCases)
  func mayWaitForAnotherOneOfTheSameSection(place: SectionPlace) async {
    let (dispatcher, events) = (Dispatcher(), Recorder<String>())
    let stage = dispatcher.addStage()
    let handles = Recorder<DispatchHandle>()
    place.run(dispatcher, events) {
      let first = stage.dispatch(
        .suspends("first") { store in
          await Task.yield()
          store.updateModel { $0.append("first") }
        }, mode: .async)
      handles.record(stage.dispatch(.adds("second"), mode: .serial, options: .after(first)))
    }
    #expect(await handles.all[0].result.isSuccess)
    #expect(stage.model == ["first", "second"])
  }

  @Test(arguments: SectionPlace.allCases)
  func hasTheParentAndTheTaskLocalValuesOfTheCall(place: SectionPlace) async {
    let dispatcher = Dispatcher(carrying: [CarriedTaskLocal(Word.$spoken)])
    let events = Recorder<String>()
    let stage = dispatcher.addStage()
    let parents = Recorder<DispatchID?>()
    let words = Recorder<String>()
    dispatcher.register(
      middleware: RecordingMiddleware(will: { transaction, _, store in
        if store.identifier == "stage" {
          parents.record(transaction.parent)
          words.record(Word.spoken)
        }
        return .pass
      }))
    let handles = Recorder<DispatchHandle>()
    let outer = dispatcher.dispatch(
      storeIdentifier: "stage",
      action: Script.runs { _ in
        place.run(dispatcher, events) {
          Word.$spoken.withValue("inside") {
            handles.record(
              stage.dispatch(.runs { _ in words.record(Word.spoken) }, mode: .serial))
          }
        }
      }, mode: .sync)
    _ = await handles.all[0].result
    #expect(words.all == ["none", "inside", "inside"])
    #expect(parents.count == 2)
    if place != .reduction, place != .observedReduction {
      #expect(parents.all[1] == outer.dispatchID)
    } else {
      #expect(parents.all[1] != nil && parents.all[1] != outer.dispatchID)
    }
  }

  @Test func ofAStoreWithoutADispatcherRunsItsCompletionOnceThatIsLeft() async {
    let store = CounterStore.counter("held")
    let stray = CounterStore.counter("stray")
    let counts = Recorder<Int>()
    let handle = store.updateModel { model in
      model.count = 1
      return stray.dispatch(.add(1)) { _ in counts.record(store.model.count) }
    }
    #expect(await handle.result.errorCode == .notRegistered)
    #expect(counts.all == [1])
  }

  /// The task begins on the thread that is in the section.
  @Test(arguments: SectionPlace.allCases, Dispatcher.SendMode.everyMode)
  func sentInAnImmediateTaskIsAcceptedOnceThatIsLeft(
    place: SectionPlace, mode: Dispatcher.SendMode
  ) async {
    let (dispatcher, events) = (Dispatcher(), Recorder<String>())
    let counter = dispatcher.register(store: CounterStore.counter("counter"))
    dispatcher.register(
      middleware: RecordingMiddleware(will: { _, _, store in
        guard store.identifier == "counter" else { return .pass }
        // Stopped the program when the section was still held.
        _ = counter.model
        events.record("will")
        return .pass
      }))
    let tasks = Recorder<Task<DispatchResult, Never>>()
    place.run(dispatcher, events) {
      tasks.record(Task.immediate { await counter.send(.add(1), mode: mode).result })
    }
    #expect(await tasks.all[0].value.isSuccess)
    #expect(counter.model.count == 1)
    #expect(events.all.count { $0 == "will" } == 1)
  }

  @Test(arguments: SectionPlace.allCases)
  func sentInAnImmediateTaskIsCancelledWithThat(place: SectionPlace) async {
    let (dispatcher, events) = (Dispatcher(), Recorder<String>())
    let counter = dispatcher.register(store: CounterStore.counter("counter"))
    let tasks = Recorder<Task<DispatchResult, Never>>()
    place.run(dispatcher, events) {
      tasks.record(
        Task.immediate {
          withUnsafeCurrentTask { $0?.cancel() }
          return await counter.send(.add(1)).result
        })
    }
    #expect(await tasks.all[0].value.error is CancellationError)
    #expect(counter.version == 0)
  }

  /// A dispatch of that moment would be refused: its thread must not block.
  @Test(arguments: SectionPlace.allCases, Dispatcher.SendMode.everyMode)
  func sentInAnImmediateTaskWaitsForALimitLikeThatOfAnyTask(
    place: SectionPlace, mode: Dispatcher.SendMode
  ) async {
    let (dispatcher, events) = (Dispatcher(), Recorder<String>())
    let (limit, free) = (DispatchLimit(1, overflow: .wait), Latch())
    let counter = dispatcher.register(store: CounterStore.counter("counter"))
    dispatcher.addStage()
    let holder = dispatcher.dispatch(
      Script.suspends { _ in await free.opened() }, mode: .async, options: .limited(by: limit))
    let tasks = Recorder<Task<DispatchResult, Never>>()
    place.run(dispatcher, events) {
      tasks.record(
        Task.immediate {
          await counter.send(.add(1), mode: mode, options: .limited(by: limit)).result
        })
    }
    free.open()
    #expect(await tasks.all[0].value.isSuccess)
    #expect(await holder.result.isSuccess)
    #expect(counter.model.count == 1)
  }

  @Test(arguments: SectionPlace.allCases)
  func sentInAnImmediateTaskIsNotCancelledWithTheBlockAround(place: SectionPlace) async {
    let (dispatcher, events, free) = (Dispatcher(), Recorder<String>(), Latch())
    let counter = dispatcher.register(store: CounterStore.counter("counter"))
    dispatcher.addStage()
    let busy = dispatcher.dispatch(
      Script.suspends { _ in await free.opened() }, mode: .serial(lane: "busy"))
    let tasks = Recorder<Task<DispatchResult, Never>>()
    let handles = Recorder<DispatchHandle>()
    let block = Script.runs { _ in
      place.run(dispatcher, events) {
        tasks.record(
          Task.immediate { await counter.send(.add(1), mode: .serial(lane: "busy")).result })
      }
      handles.waitFor(1)
      handles.all[0].cancel()
    }
    let outer = dispatcher.dispatch(block, mode: .async)
    handles.record(outer)
    _ = await outer.result
    free.open()
    #expect(await tasks.all[0].value.isSuccess)
    #expect(await busy.result.isSuccess)
    #expect(counter.model.count == 1)
  }

  @Test func sentInAnAtomicActionThatIsUndoneItEndsAsCancelled() async {
    let dispatcher = Dispatcher()
    let counter = dispatcher.register(store: CounterStore.counter("counter"))
    let tasks = Recorder<Task<DispatchResult, Never>>()
    dispatcher.register(
      store: .reducing("failing") {
        tasks.record(Task.immediate { await counter.send(.add(1)).result })
        throw CounterFailure()
      })
    dispatcher.dispatch(Ping(), mode: .sync, options: .atomic)
    #expect(await tasks.all[0].value.error is CancellationError)
    #expect(counter.version == 0)
  }

  @Test func sentToAStoreWithoutADispatcherIsRefused() async {
    let (store, stray) = (CounterStore.counter("held"), CounterStore.counter("stray"))
    let task = store.updateModel { model in
      model.count = 1
      return Task.immediate { await stray.send(.add(1)).result }
    }
    #expect(await task.value.errorCode == .notRegistered)
  }

  /// It is behind that in its lane, by the time that it gets there.
  @Test(arguments: Dispatcher.Mode.laneModes, [false, true])
  func endsWhereOneBeforeItWaitsForIt(mode: Dispatcher.Mode, isSequence: Bool) async {
    let (dispatcher, hooks) = (Dispatcher(), Recorder<String>())
    let stage = dispatcher.addStage()
    let held = dispatcher.register(store: CounterStore.counter("held"))
    dispatcher.register(
      middleware: RecordingMiddleware(
        will: { _, action, _ in
          hooks.record("will \(action)")
          return .pass
        }, did: { _, action, _ in hooks.record("did \(action)") }))
    let (handles, ran) = (Recorder<DispatchHandle>(), Recorder<String>())
    held.updateModel { _ in
      let late = Script.runs("late") { _ in ran.record("late") }
      handles.record(
        isSequence
          ? dispatcher.dispatch(storeIdentifier: "stage", actions: [late, late], mode: mode)
          : stage.dispatch(late, mode: mode))
      let made = handles.all[0]
      // Not in the section: another thread's is accepted at once.
      Thread {
        handles.record(
          stage.dispatch(
            .runs("first") { _ in ran.record("first") }, mode: mode, options: .after(made)))
      }.start()
      handles.waitFor(2)
    }
    let results = (await handles.all[0].result, await handles.all[1].result)
    #expect(results.0.dispatchError?.code == .wouldDeadlock)
    #expect(results.0.error.map { "\($0)" }?.contains("waits for itself") == false)
    #expect(results.1.isSuccess)
    #expect(ran.all == ["first"])
    let late = hooks.all.filter { $0.hasSuffix("late") }
    #expect(isSequence ? late.isEmpty : late == ["will late", "did late"])
  }

  /// Where it is to wait itself, as well.
  @Test(arguments: Dispatcher.Mode.queuedModes)
  func endsWhereItWaitsForOneThatWaitsForIt(mode: Dispatcher.Mode) async {
    let (dispatcher, stage) = makeStage()
    let held = dispatcher.register(store: CounterStore.counter("held"))
    let (handles, released) = (Recorder<DispatchHandle>(), Latch())
    let awaited = Recorder<DispatchError.Code?>()
    let waits = stage.dispatch(
      .suspends { _ in
        await released.opened()
        awaited.record(await handles.first(1)[0].result.dispatchError?.code)
      }, mode: .serial(lane: "waits"))
    held.updateModel { _ in
      handles.record(stage.dispatch(.adds("late"), mode: mode, options: .after(waits)))
      released.open()
    }
    #expect(await waits.result.isSuccess)
    // That of the dispatch, or of the wait where it began only then.
    #expect(awaited.all == [.wouldDeadlock])
    _ = await handles.all[0].result
  }

  /// The dispatch around it runs in a task, and has made a record by then.
  @Test(arguments: Dispatcher.Mode.queuedModes)
  func leavesTheStoresOfASentDispatchAsTheyAre(_ mode: Dispatcher.Mode) async {
    let (dispatcher, log) = (Dispatcher(), Recorder<String>())
    dispatcher.addProbe("a", style: .returning, to: log)
    let counter = dispatcher.register(store: CounterStore.counter("counter"))
    dispatcher.register(
      store: .reducing("b") {
        log.record("b")
        dispatcher.dispatch(action: CounterAction.add(1), mode: .serial(lane: "other"))
      })
    dispatcher.addProbe("c", style: .returning, to: log)
    #expect(await dispatcher.send(Ping(), mode: mode).isSuccess)
    await dispatcher.send(CounterAction.add(1), mode: .serial(lane: "other"))
    #expect(log.all == ["+a", "-a", "b", "+c", "-c"])
    #expect(counter.model.count == 2)
  }
}
