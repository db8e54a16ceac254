import DispatchStore
import Foundation
import Testing

private enum Request {
  @TaskLocal static var id = "none"
  @TaskLocal static var user = "nobody"
}

@Suite("Carried task-local values", .timeLimit(.minutes(10)))
struct CarriedTaskLocalTests {
  let dispatcher = Dispatcher(
    carrying: [CarriedTaskLocal(Request.$id), CarriedTaskLocal(Request.$user)])
  let log = Recorder<String>()

  private static var seen: String { "\(Request.id) of \(Request.user)" }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func followTheActionToWhereverItRuns(_ mode: Dispatcher.Mode) async {
    let log = log
    let stage = dispatcher.addStage()
    dispatcher.register(
      middleware: RecordingMiddleware(
        will: { _, _, _ in
          log.record("will \(Self.seen)")
          return .pass
        }, did: { _, _, _ in log.record("did \(Self.seen)") }))
    let token = stage.observe(.model) { _ in log.record("observer \(Self.seen)") }
    let scripts: [Script] = [
      .runs { store in
        log.record("block \(Self.seen)")
        store.updateModel { $0.append("") }
      },
      .suspends { store in
        await Task.yield()
        log.record("block \(Self.seen)")
        store.updateModel { $0.append("") }
      },
    ]
    for script in scripts {
      let handle = Request.$id.withValue("7") {
        Request.$user.withValue("ann") {
          dispatcher.dispatch(action: script, mode: mode) { log.record("then \(Self.seen)") }
        }
      }
      _ = await handle.result
    }
    let once = ["will", "block", "observer", "did", "then"].map { "\($0) 7 of ann" }
    #expect(log.all == once + once)
    #expect(Self.seen == "none of nobody")
    token.cancel()
  }

  /// A callback of the program's, on a thread that knows neither the values nor the dispatch.
  @Test(arguments: Way.all)
  func reachObserversOfWhatACallbackCommits(_ way: Way) async {
    let (dispatcher, log) = (dispatcher, log)
    let stage = dispatcher.addStage()
    let token = stage.observe(.model) { _ in
      log.record("observer \(Request.id)")
      dispatcher.dispatch(action: Script.runs("nested") { _ in log.record("nested \(Request.id)") })
    }
    let script = Script.controls { operation, _ in
      DispatchQueue.global().async {
        operation.updateModel { $0.append("") }
        operation.finish()
      }
    }
    let run: @Sendable () -> DispatchHandle = {
      Request.$id.withValue("7") { dispatcher.dispatch(action: script, mode: way.mode) }
    }
    if way.sends {
      _ = await Request.$id.withValue("7") { await dispatcher.send(script, mode: way.mode) }
    } else if way.mode == .sync {
      _ = await onOwnThread(run)
    } else {
      _ = await run().result
    }
    #expect(await log.first(2) == ["observer 7", "nested 7"])
    token.cancel()
  }

  /// A thread that notifies the store's observers already delivers the change, too.
  @Test(arguments: Way.all.filter { $0.mode != .sync })
  func reachObserversOfAChangeThatAnotherThreadDelivers(_ way: Way) async {
    let (log, versions, free) = (log, Recorder<UInt64>(), Latch())
    let counter = dispatcher.register(store: .counter("counter"))
    let tokens = [
      counter.observe(.model) { _ in
        log.record(Self.seen)
        free.wait()
      },
      counter.observe(.model, on: .queue(DispatchQueue(label: "versions"))) {
        versions.record($0.version)
      },
    ]
    async let notifier: Void = onOwnThread { counter.updateModel { $0.count += 1 } }
    _ = await log.first(1)
    let task = Request.$id.withValue("7") {
      dispatcher.begin(action: CounterAction.add(1), way.mode, [], sends: way.sends)
    }
    await versions.untilRecorded { $0 == 2 }
    free.open()
    #expect(await task.value.isSuccess)
    await notifier
    #expect(log.all == ["none of nobody", "7 of nobody"])
    for token in tokens { token.cancel() }
  }

  /// A reducer's code binds others around a change, which another thread delivers.
  @Test(arguments: Dispatcher.SendMode.everyMode)
  func areThoseOfTheCallAlsoAfterAChangeInsideOfOthers(_ mode: Dispatcher.SendMode) async {
    let (log, versions, free) = (log, Recorder<UInt64>(), Latch())
    let reducer = ApplyingReducer { _, store in
      Request.$id.withValue("inner") { store.updateModel { $0 += 1 } }
    }
    let store = dispatcher.register(
      store: ProbeStore(identifier: "store", model: 0, reducer: reducer))
    let tokens = [
      store.observe(.model) { _ in
        log.record("observer \(Request.id)")
        free.wait()
      },
      store.observe(.model, on: .queue(DispatchQueue(label: "versions"))) {
        versions.record($0.version)
      },
    ]
    async let notifier: Void = onOwnThread { store.updateModel { $0 += 1 } }
    _ = await log.first(1)
    let task = Task { [dispatcher] in
      await Request.$id.withValue("7") {
        await dispatcher.send(Ping(), mode: mode) { _ in log.record("then \(Request.id)") }
          .isSuccess
      }
    }
    await versions.untilRecorded { $0 == 2 }
    free.open()
    #expect(await task.value)
    await notifier
    #expect(log.all == ["observer none", "observer 7", "then 7"])
    for token in tokens { token.cancel() }
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func followEachActionOfASequence(_ mode: Dispatcher.Mode) async {
    let log = log
    let stage = dispatcher.addStage()
    let token = stage.observe(.model) { _ in log.record("observer \(Self.seen)") }
    let script = Script.suspends { store in
      await Task.yield()
      store.updateModel { $0.append("") }
    }
    let handle = Request.$id.withValue("7") {
      dispatcher.dispatch(actions: [script, script], mode: mode) {
        log.record("then \(Self.seen)")
      }
    }
    _ = await handle.result
    let observed = "observer 7 of nobody"
    #expect(log.all == [observed, observed, "then 7 of nobody"])
    token.cancel()
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func areThoseOfTheDispatchThatRuns(_ mode: Dispatcher.Mode) async {
    dispatcher.addStage()
    let script = Script.runs { [log] _ in log.record(Self.seen) }
    for id in ["1", "2"] {
      let handle = Request.$id.withValue(id) { dispatcher.dispatch(action: script, mode: mode) }
      _ = await handle.result
    }
    _ = await dispatcher.dispatch(action: script, mode: mode).result
    #expect(log.all == ["1 of nobody", "2 of nobody", "none of nobody"])
  }

  @Test(arguments: Dispatcher.Mode.everyMode, Dispatcher.Mode.everyMode)
  func arePassedOnToNestedDispatches(_ outer: Dispatcher.Mode, _ inner: Dispatcher.Mode) async {
    let (dispatcher, log) = (dispatcher, log)
    dispatcher.addStage()
    let script = Script.runs { _ in
      dispatcher.dispatch(action: Script.runs { _ in log.record(Self.seen) }, mode: inner)
    }
    _ = await Request.$user.withValue("bob") {
      dispatcher.dispatch(action: script, mode: outer)
    }.result
    #expect(await log.first(1) == ["none of bob"])
  }

  /// What was around a queued dispatch is not kept with the memory of its values.
  @Test(arguments: [StoreOwnership.strong, .weak])
  func doNotKeepWhatWasAround(_ ownership: StoreOwnership) async {
    let (dispatcher, deaths, count) = (dispatcher, EventCount(of: 10), EventCount(of: 10))
    let (outer, inner) = (dispatcher.addStage(), CounterStore.counter("inner"))
    dispatcher.register(store: inner, ownership: ownership)
    let token = outer.observe(.model) { _ in
      dispatcher.dispatch(action: CounterAction.add(1), mode: .serial) { count.add() }
    }
    for _ in 0..<10 {
      let payload = Mortal(deaths)
      let script = Script.suspends { store in
        await Task.yield()
        store.updateModel { $0.append("") }
        withExtendedLifetime(payload) {}
      }
      _ = await outer.dispatch(script, mode: .serial(lane: "b")).result
    }
    await count.full()
    await deaths.full()
    #expect(inner.model.count == 10)
    token.cancel()
  }

  /// The steps of a group have the same values, and bind them at the same time.
  @Test func areBoundByManyThreadsAtATime() async {
    let (dispatcher, others) = (dispatcher, EventCount(of: .max))
    dispatcher.addStage()
    let step = Script.runs { _ in if Request.id != "7" { others.add() } }
    for _ in 0..<Load.count(50) {
      let group = ActionGroup(.concurrent) {
        for _ in 0..<8 {
          ActionGroup {
            step
            step
          }
        }
      }
      #expect(await Request.$id.withValue("7") { dispatcher.dispatch(group) }.result.isSuccess)
    }
    #expect(others.count == 0)
  }
}
