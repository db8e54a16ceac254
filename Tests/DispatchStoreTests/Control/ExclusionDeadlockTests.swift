import DispatchStoreTesting
import Foundation
import Testing

@testable import DispatchStore

@Suite("Mutual exclusion: waits that would not end", .timeLimit(.minutes(10)))
struct ExclusionDeadlockTests {
  /// How a block waits for what it dispatches.
  enum How: CaseIterable {
    case sends, awaits, runs
  }

  let it = GateStage()

  /// Dispatches a note from a block, and waits for it.
  private func nest(
    _ how: How, _ name: String, _ options: DispatchOptions, _ mode: Dispatcher.Mode = .async
  ) async -> DispatchResult {
    let (dispatcher, script) = (it.dispatcher, it.notes(name))
    switch how {
    case .sends:
      return (await dispatcher.send(script, to: "stage", mode: mode, options: options)).result
    case .awaits:
      return await dispatcher.dispatch(
        storeIdentifier: "stage", action: script, mode: mode, options: options
      ).result
    case .runs:
      return dispatcher.dispatch(
        storeIdentifier: "stage", action: script, mode: .sync, options: options
      ).resultIfEnded!
    }
  }

  private func expectRefused(
    _ result: DispatchResult?, of key: String, _ location: SourceLocation = #_sourceLocation
  ) {
    #expect(result?.errorCode == .wouldDeadlock, "\(result!)", sourceLocation: location)
    let message = result?.dispatchError?.message ?? ""
    let names = message.contains("the exclusion key \"\(key)\"")
    #expect(names, "\(message)", sourceLocation: location)
    // The one that waits, and its own.
    #expect(result?.dispatchError?.callSites.count == 2, sourceLocation: location)
  }

  @Test(arguments: Dispatcher.Mode.everyMode, How.allCases)
  func whatABlockOfTheHolderWaitsForIsRefused(_ mode: Dispatcher.Mode, how: How) async {
    let results = Recorder<DispatchResult>()
    let (it, nest) = (it, nest)
    let script = Script.suspends { _ in
      results.record(await nest(how, "inner", [.exclusive("a"), .exclusive("b")], .async))
      // Other keys are free.
      results.record(await nest(.sends, "other", .exclusive("b"), .async))
    }
    let outer = await it.run(script, mode, .exclusive("a")).value
    #expect(outer.isSuccess)
    expectRefused(results.all[0], of: "a")
    #expect(results.all[1].isSuccess && it.log.all.first == "other")
    // The wait was refused, and not what was dispatched.
    if how == .awaits { #expect(await it.log.first(2) == ["other", "inner"]) }
  }

  @Test(arguments: Dispatcher.Mode.everyMode, How.allCases)
  func soIsWhatAChildInBetweenWaitsFor(_ mode: Dispatcher.Mode, how: How) async {
    let results = Recorder<DispatchResult>()
    let (it, nest, outer) = (it, nest, it.dispatcher.addStage("outer"))
    let inner = Script.suspends { _ in
      results.record(await nest(how, "inner", .exclusive("a"), .serial(lane: "inner")))
    }
    let script = Script.suspends { _ in
      async let child = it.dispatcher.send(inner, to: "stage", mode: .serial(lane: "child"))
      #expect(await child.isSuccess)
    }
    let result = await onOwnThread {
      outer.dispatch(script, mode: mode, options: .exclusive("a"))
    }.result
    #expect(result.isSuccess)
    #expect(results.all[0].errorCode == .wouldDeadlock)
    if how == .awaits { #expect(await it.log.first(1) == ["inner"]) }
    #expect(it.log.count == (how == .awaits ? 1 : 0))
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func soIsWhatAnObserverAHookOrACompletionOfTheHolderRuns(_ mode: Dispatcher.Mode) async {
    let (it, results) = (it, Recorder<DispatchError.Code?>())
    let other = it.dispatcher.addStage("other")
    let run: @Sendable () -> Void = {
      let result = other.dispatch(.adds("x"), mode: .sync, options: .exclusive("a"))
      results.record(result.resultIfEnded!.errorCode)
    }
    let token = it.stage.observe(.model) { _ in run() }
    let handle = await onOwnThread {
      it.stage.dispatch(.adds("y"), mode: mode, options: .exclusive("a")) { _ in run() }
    }
    #expect(await handle.result.isSuccess)
    #expect(results.all == [.wouldDeadlock, .wouldDeadlock])
    token.cancel()
  }

  @Test(arguments: Dispatcher.Mode.everyMode, Dispatcher.Mode.laneModes + [.async])
  func whatIsOnlyDispatchedThereRunsAfterwards(
    _ mode: Dispatcher.Mode, inner: Dispatcher.Mode
  ) async {
    let (it, handles) = (it, Recorder<DispatchHandle>())
    let script = Script.suspends { _ in
      handles.record(
        it.dispatcher.dispatch(
          action: it.notes("inner"), mode: inner, options: .exclusive("a")))
      await Task.yield()
      it.log.record("end")
    }
    #expect(await it.run(script, mode, .exclusive("a")).value.isSuccess)
    #expect(await handles.all[0].result.isSuccess)
    #expect(it.log.all == ["end", "inner"])
  }

  /// Each has a key, and its block sends what needs the other one's.
  @Test(arguments: Dispatcher.Mode.queuedModes)
  func aRingOfTwoIsRefusedOnce(_ mode: Dispatcher.Mode) async {
    let (it, results, nest) = (it, Recorder<DispatchResult>(), nest)
    it.dispatcher.addStage("other")
    let both = EventCount(of: 2)
    let tasks = [("stage", "a", "b"), ("other", "b", "a")].map { store, own, needed in
      let script = Script.suspends { _ in
        both.add()
        await both.full()
        results.record(await nest(.sends, "inner", .exclusive(needed), .async))
      }
      let isFree = mode.isAsync || mode == .mainThread && own == "a"
      let lane = isFree ? mode : .serial(lane: own)
      return it.dispatcher.dispatch(
        storeIdentifier: store, action: script, mode: lane, options: .exclusive(own))
    }
    for task in tasks { #expect(await task.result.isSuccess) }
    let codes = results.all.map(\.errorCode)
    #expect(codes.count { $0 == .wouldDeadlock } == 1 && codes.count { $0 == nil } == 1)
    #expect(it.isClean)
  }

  /// What waits for a key holds its lane, and so what is behind it there.
  @Test(arguments: Dispatcher.Mode.laneModes, How.allCases.filter { $0 != .runs })
  func waitingBehindOneThatNeedsTheKeyIsRefused(_ mode: Dispatcher.Mode, how: How) async {
    let (it, results, nest) = (it, Recorder<DispatchResult>(), nest)
    let (free, queued) = (Latch(), Latch())
    let outer = it.dispatcher.addStage("outer")
    let script = Script.suspends { _ in
      it.log.record("outer")
      await queued.opened()
      results.record(await nest(how, "behind", DispatchOptions(), mode))
    }
    let handle = outer.dispatch(script, mode: .serial(lane: "outer"), options: .exclusive("a"))
    _ = await it.log.first(1)
    // The lane's holder first, so that the one with a key is still in the inbox.
    let holder = await it.begin("holder", until: free, mode, DispatchOptions())
    let waiting = it.run(it.notes("waiting"), mode, .exclusive("a"))
    queued.open()
    #expect(await handle.result.isSuccess)
    #expect(results.all.map(\.errorCode) == [.wouldDeadlock])
    #expect("\(results.all[0].error!)".contains("the exclusion key \"a\""))
    free.open()
    for task in [holder, waiting] { #expect(await task.value.isSuccess) }
  }

  /// One that waits for a key of the holder's reserves the other one: what the holder waits for goes before it.
  @Test(arguments: How.allCases)
  func noneIsRefusedSinceAnotherOneCameFirst(how: How) async {
    let (it, results, nest) = (it, Recorder<DispatchResult>(), nest)
    let came = Latch()
    let script = Script.suspends { _ in
      it.log.record("outer")
      await came.opened()
      results.record(await nest(how, "inner", .exclusive("b"), .async))
    }
    let outer = it.run(script, .serial(lane: "outer"), .exclusive("a"))
    _ = await it.log.first(1)
    let both = it.run(it.notes("both"), .async, [.exclusive("a"), .exclusive("b")], sends: true)
    came.open()
    for task in [outer, both] { #expect(await task.value.isSuccess) }
    #expect(results.all[0].isSuccess, "\(results.all[0])")
    #expect(it.log.all == ["outer", "inner", "both"] && it.isClean)
  }

  /// A dispatch that is cancelled in the line would otherwise get the key before its own completion goes on.
  @Test func theCompletionOfOneThatDidNotBeginMayWaitForItsKey() async throws {
    try await explore(seeds: 0..<300) { dispatcher in
      dispatcher.addStage()
      async let holder = dispatcher.dispatch(
        action: Script.suspends { _ in await Task.yield() }, options: .exclusive("a")
      ).result
      let inner = Recorder<DispatchResult?>()
      let cancelled = dispatcher.dispatch(action: Script.adds("x"), options: .exclusive("a")) {
        let handle = dispatcher.dispatch(
          action: Script.adds("y"), mode: .sync, options: .exclusive("a"))
        inner.record(handle.resultIfEnded)
      }
      cancelled.cancel()
      let hasBegun = await cancelled.result.hasStarted
      if !(await holder.isSuccess) { throw StageFright() }
      // If it had begun, it has the key itself.
      if !hasBegun, inner.all.map({ $0?.isSuccess }) != [true] { throw StageFright(place: 1) }
    }
  }

  /// Those that have the other units wait for the last one itself, in whatever order they are searched.
  @Test(arguments: 0..<20)
  func oneOvertakesForWhichOneOfSeveralThatHaveUnitsWaits(index: Int) async {
    let (it, nest, results) = (it, nest, Recorder<DispatchResult>())
    let others = 1 + index % 2
    let (limit, mayGoOn) = (DispatchLimit(1 + others, overflow: .wait), Latch())
    let script = Script.suspends { _ in
      it.log.record("last")
      await mayGoOn.opened()
      results.record(await nest(.sends, "inner", .limited(by: limit), .async))
    }
    let last = it.dispatcher.dispatch(action: script, mode: .async, options: .exclusive("a"))
    _ = await it.log.first(1)
    let both = it.run(it.notes("both"), .async, [.exclusive("a"), .exclusive("b")], sends: true)
    let behind = it.dispatcher.dispatch(
      action: it.notes("behind"), mode: .async, options: .exclusive("b"))
    while behind.dispatch!.makeDetails().withState({ $0.gateAtTurn == nil }) { await Task.yield() }
    let waits = ([behind] + Array(repeating: last, count: others)).map { awaited in
      it.dispatcher.dispatch(
        action: Script.suspends { _ in _ = await awaited.result }, mode: .async,
        options: .limited(by: limit))
    }
    for wait in waits {
      while WaitGraph.waits(of: wait.dispatch!).isEmpty { await Task.yield() }
    }
    mayGoOn.open()
    for handle in waits + [last, behind] { #expect(await handle.result.isSuccess) }
    #expect(await both.value.isSuccess)
    #expect(results.all[0].isSuccess, "\(results.all[0])")
    #expect(it.log.all == ["last", "behind", "inner", "both"] && it.isClean)
  }

  /// The same where the one that needs the other key is not made there: it is before what the holder waits for.
  @Test(arguments: [0, 1])
  func oneInALaneOvertakesWhereTheHolderWaitsBehindIt(order: Int) async {
    let (it, results) = (it, Recorder<DispatchResult>())
    let (free, waits, came) = (Latch(), Latch(), Latch())
    let script = Script.suspends { _ in
      it.log.record("outer")
      await came.opened()
      let child = it.dispatcher.dispatch(action: it.notes("behind"), mode: .serial(lane: "x"))
      waits.open()
      results.record(await child.result)
    }
    let outer = it.run(script, .serial(lane: "outer"), .exclusive("a"))
    _ = await it.log.first(1)
    let holder = await it.begin("x", until: free, .serial(lane: "x"), DispatchOptions())
    let inLane = it.run(it.notes("in lane"), .serial(lane: "x"), .exclusive("b"))
    let both: @Sendable () -> Task<DispatchResult, Never> = {
      it.run(it.notes("both"), .async, [.exclusive("a"), .exclusive("b")], sends: true)
    }
    var last: Task<DispatchResult, Never>?
    if order == 0 { last = both() }
    came.open()
    await waits.opened()
    // It comes to its gate before the holder waits, or afterwards.
    if order == 1 { last = both() }
    free.open()
    for task in [outer, holder, inLane, last!] { #expect(await task.value.isSuccess) }
    #expect(results.all[0].isSuccess)
    #expect(it.log.all == ["outer", "+x", "-x", "in lane", "behind", "both"])
  }

  @Test func aSyncCallOnATaskThreadWaitsForNoTask() async {
    let (it, free, results) = (it, Latch(), Recorder<DispatchResult>())
    let holder = await it.begin("a", until: free, .async, .exclusive("a"), sends: true)
    await Task.detached {
      func run() -> DispatchResult {
        it.dispatcher.dispatch(action: it.notes("x"), mode: .sync, options: .exclusive("a"))
          .resultIfEnded!
      }
      results.record(run())
    }.value
    #expect(results.all[0].errorCode == .wouldDeadlock)
    free.open()
    #expect(await holder.value.isSuccess)
  }

  /// It runs on the main queue, in a block whose caller blocks the thread of a task.
  @Test(arguments: [true, false])
  func aSyncDispatchForWhichATasksThreadIsBlockedOvertakesATask(hasMiddleware: Bool) async {
    let (it, free, outer) = (it, Latch(), Dispatcher(name: "outer"))
    outer.addStage()
    if hasMiddleware { it.dispatcher.register(middleware: RecordingMiddleware()) }
    let holder = await it.begin("a", until: free, .async, .exclusive("a"))
    let task = it.run(it.notes("task"), .async, .exclusive("a"), sends: true)
    let script = Script.suspends { _ in
      await MainActor.run {
        _ = it.dispatcher.dispatch(
          storeIdentifier: "stage", action: it.notes("sync"), mode: .sync,
          options: .exclusive("a"))
      }
    }
    // On a thread of its own, since the one for tasks may be the only one. It waits, so it has come to its gate.
    Thread {
      while !it.dispatcher.pool.shared.isAwaited { sched_yield() }
      free.open()
    }.start()
    let caller = Task.detached {
      func run() -> DispatchResult { outer.dispatch(action: script, mode: .sync).resultIfEnded! }
      return run()
    }
    for each in [caller, holder, task] { #expect(await each.value.isSuccess) }
    #expect(it.log.all == ["+a", "-a", "sync", "task"] && it.isClean)
  }
}
