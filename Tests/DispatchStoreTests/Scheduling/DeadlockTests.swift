import DispatchStore
import Foundation
import Testing

/// A wait for what can't end before the waiting dispatch has is refused at once.
@Suite("wouldDeadlock", .timeLimit(.minutes(10)))
struct DeadlockTests {
  let dispatcher = makeStage().dispatcher
  let log = Recorder<String>()

  /// Expects the error, and that its message names the lane and the lines of the call sites.
  private func expect(
    _ result: DispatchResult, names lane: String, _ lines: UInt...,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let error = result.error as? DispatchError
    let message = error?.message ?? "no DispatchError: \(result)"
    #expect(error?.code == .wouldDeadlock, sourceLocation: sourceLocation)
    #expect(message.contains(lane), "\(message)", sourceLocation: sourceLocation)
    for line in lines {
      #expect(
        message.contains("DeadlockTests.swift:\(line)"), "\(message)",
        sourceLocation: sourceLocation)
    }
    #expect(error?.callSites.map(\.line) == lines, sourceLocation: sourceLocation)
  }

  private func name(of mode: Dispatcher.Mode) -> String {
    switch mode {
    case .serial: "the default lane"
    case .mainThread: "the main lane"
    default: "lane \"named\""
    }
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func awaitingItsOwnHandle(_ mode: Dispatcher.Mode) async {
    let (handles, results) = (Recorder<DispatchHandle>(), Recorder<DispatchResult>())
    let script = Script.suspends { _ in
      results.record(await handles.first(1)[0].result)
    }
    let handle = dispatcher.dispatch(action: script, mode: mode, line: 1)
    handles.record(handle)
    #expect(await handle.result.isSuccess)
    expect(results.all[0], names: "that waits", 1, 1)
  }

  @Test(arguments: Dispatcher.Mode.laneModes)
  func awaitingADispatchOnTheLaneThatItHolds(_ mode: Dispatcher.Mode) async {
    let (dispatcher, results) = (dispatcher, Recorder<DispatchResult>())
    let script = Script.suspends { _ in
      let inner = dispatcher.dispatch(action: Script.adds("inner"), mode: mode, line: 2)
      results.record(await inner.result)
    }
    let handle = dispatcher.dispatch(action: script, mode: mode, line: 1)
    #expect(await handle.result.isSuccess)
    expect(results.all[0], names: name(of: mode), 1, 2)
  }

  @Test(arguments: Dispatcher.Mode.laneModes)
  func inTheCompletionOfARefusedSend(_ mode: Dispatcher.Mode) async {
    let (dispatcher, handles) = (dispatcher, Recorder<DispatchHandle>())
    let results = Recorder<DispatchResult>()
    let script = Script.suspends { _ in
      let outer = await handles.first(1)[0]
      // The send waits for its completion, which can't wait for the block that sends.
      let inner = await dispatcher.send(Script.adds("inner"), mode: mode) { _ in
        let last = dispatcher.dispatch(Script.adds("last"), mode: .sync, options: .after(outer))
        results.record(last.resultIfEnded!)
      }
      #expect(inner.result.errorCode == .wouldDeadlock)
    }
    let handle = dispatcher.dispatch(action: script, mode: mode)
    handles.record(handle)
    #expect(await handle.result.isSuccess)
    #expect(results.all.map(\.errorCode) == [.wouldDeadlock])
  }

  @Test(arguments: Dispatcher.Mode.laneModes)
  func theThrowingFormThrows(_ mode: Dispatcher.Mode) async {
    let dispatcher = dispatcher
    let script = Script.suspends { _ in
      try await dispatcher.dispatch(action: Script.adds("inner"), mode: mode, line: 2).get()
    }
    let result = await dispatcher.dispatch(action: script, mode: mode, line: 1).result
    expect(result, names: name(of: mode), 1, 2)
  }

  @Test(arguments: Dispatcher.Mode.laneModes)
  func awaitingItInAChildTask(_ mode: Dispatcher.Mode) async {
    let (dispatcher, results) = (dispatcher, Recorder<DispatchResult>())
    let script = Script.suspends { _ in
      async let child = dispatcher.dispatch(action: Script.adds("a"), mode: mode, line: 2).result
      results.record(await child)
      await withTaskGroup { group in
        group.addTask {
          let inner = dispatcher.dispatch(action: Script.adds("b"), mode: mode, line: 3)
          results.record(await inner.result)
        }
      }
    }
    _ = await dispatcher.dispatch(action: script, mode: mode, line: 1).result
    expect(results.all[0], names: name(of: mode), 1, 2)
    expect(results.all[1], names: name(of: mode), 1, 3)
  }

  @Test(arguments: Dispatcher.Mode.laneModes)
  func awaitingItInASyncChild(_ mode: Dispatcher.Mode) async {
    let (dispatcher, results) = (dispatcher, Recorder<DispatchResult>())
    let child = Script.suspends { _ in
      let inner = dispatcher.dispatch(action: Script.adds("inner"), mode: mode, line: 3)
      results.record(await inner.result)
    }
    let parents: [Script] = [
      .runs { _ in dispatcher.dispatch(action: child, mode: .sync, line: 2) },
      .suspends { _ in
        await Task.yield()
        dispatcher.dispatch(action: child, mode: .sync, line: 2)
      },
    ]
    for parent in parents {
      _ = await dispatcher.dispatch(action: parent, mode: mode, line: 1).result
      expect(results.all.last!, names: name(of: mode), 2, 3, 1)
    }
    #expect(results.count == 2)
  }

  @Test(arguments: Dispatcher.Mode.laneModes)
  func aSyncDispatchThatWouldWaitForOne(_ mode: Dispatcher.Mode) async {
    let (dispatcher, log, results) = (dispatcher, log, Recorder<DispatchResult>())
    let dispatches: @Sendable () -> Void = {
      let behind = dispatcher.dispatch(action: Script.adds("behind"), mode: mode, line: 2)
      let script = Script.runs { _ in log.record("ran") }
      dispatcher.dispatch(
        script, mode: .sync, options: .after(behind), then: { results.record($0) }, line: 3)
    }
    let parents: [Script] = [
      .runs { _ in dispatches() },
      .suspends { _ in
        await Task.yield()
        dispatches()
      },
    ]
    for parent in parents {
      #expect(await dispatcher.dispatch(action: parent, mode: mode, line: 1).result.isSuccess)
      expect(results.all.last!, names: name(of: mode), 1, 3, 2)
    }
    #expect(results.count == 2)
    #expect(log.all.isEmpty)
  }

  @Test(arguments: Dispatcher.Mode.laneModes)
  func awaitingOneThatIsAfterADispatchOnTheLane(_ mode: Dispatcher.Mode) async {
    let (dispatcher, results) = (dispatcher, Recorder<DispatchResult>())
    let script = Script.suspends { _ in
      let behind = dispatcher.dispatch(action: Script.adds("behind"), mode: mode, line: 2)
      let after = dispatcher.dispatch(
        action: Script.adds("after"), mode: .async, options: .after(behind), line: 3)
      results.record(await after.result)
    }
    _ = await dispatcher.dispatch(action: script, mode: mode, line: 1).result
    expect(results.all[0], names: name(of: mode), 1, 3, 2)
  }

  @Test func twoOperationsThatAwaitEachOtherAcrossTwoLanes() async {
    let (dispatcher, results) = (dispatcher, Recorder<DispatchResult>())
    let (one, two) = (Latch(), Latch())
    let began = { (mine: Latch, theirs: Latch, other: Dispatcher.Mode, line: UInt) in
      Script.suspends { _ in
        mine.open()
        await theirs.opened()
        let inner = dispatcher.dispatch(action: Script.adds("inner"), mode: other, line: line)
        results.record(await inner.result)
      }
    }
    let (a, b) = (Dispatcher.Mode.serial(lane: "a"), Dispatcher.Mode.serial(lane: "b"))
    let first = dispatcher.dispatch(action: began(one, two, b, 3), mode: a, line: 1)
    let second = dispatcher.dispatch(action: began(two, one, a, 4), mode: b, line: 2)
    _ = await (first.result, second.result)
    // One of the waits is refused, so that the other one ends.
    let refused = results.all.filter { $0.errorCode == .wouldDeadlock }
    #expect(refused.count == 1)
    #expect(results.all.filter(\.isSuccess).count == 1)
  }

  @Test(arguments: Dispatcher.Mode.laneModes)
  func awaitingItInACompletionWhichHoldsTheLaneToo(_ mode: Dispatcher.Mode) async {
    let (dispatcher, results) = (dispatcher, Recorder<DispatchResult>())
    let child = Script.suspends { _ in
      let inner = dispatcher.dispatch(action: Script.adds("inner"), mode: mode, line: 3)
      results.record(await inner.result)
    }
    let first = dispatcher.dispatch(
      action: Script.adds("first"), mode: mode,
      then: { dispatcher.dispatch(action: child, mode: .sync, line: 2) }, line: 1)
    _ = await first.result
    expect(results.all[0], names: name(of: mode), 2, 3, 1)
  }

  @Test(arguments: Dispatcher.Mode.laneModes)
  func awaitingItInASequence(_ mode: Dispatcher.Mode) async {
    let (dispatcher, results) = (dispatcher, Recorder<DispatchResult>())
    let script = Script.suspends { _ in
      results.record(
        await dispatcher.dispatch(action: Script.adds("inner"), mode: mode, line: 2).result)
    }
    let actions: [AnyAction] = [Script.adds("first"), script]
    _ = await dispatcher.dispatch(actions: actions, mode: mode, line: 1).result
    expect(results.all[0], names: name(of: mode), 1, 2)
  }

  @MainActor @Test func waitsThatWouldBlockTheMainQueueForTheMainLane() {
    let (dispatcher, results) = (dispatcher, Recorder<DispatchResult>())
    let awaiting = Script.suspends { _ in
      let inner = dispatcher.dispatch(action: Script.adds("inner"), mode: .mainThread, line: 2)
      results.record(await inner.result)
    }
    dispatcher.dispatch(action: awaiting, mode: .sync, line: 1)
    expect(results.all[0], names: "the main lane", 1, 2)
    let behind = dispatcher.dispatch(action: Script.adds("behind"), mode: .mainThread, line: 2)
    dispatcher.dispatch(
      Script.adds("after"), mode: .sync, options: .after(behind), then: { results.record($0) },
      line: 3)
    expect(results.all[1], names: "the main lane", 3, 2)
  }

  @MainActor @Test func aMainActorBlockOfASyncDispatchOnTheMainQueue() {
    let script = Script.answers { action, store in
      Script.Operation(action: action, store: store) { @MainActor _, _ async in }
    }
    let result = dispatcher.dispatch(action: script, mode: .sync).resultIfEnded
    #expect(result?.errorCode == .wouldDeadlock)
    #expect(result?.error.map { "\($0)".contains("isolated to the main actor") } == true)
    #expect(dispatcher.dispatch(action: Script.adds("next"), mode: .sync).hasEnded)
  }

  /// It would have its turn on the main queue, which the caller holds up.
  @MainActor @Test func whatABlockOfASyncDispatchOnTheMainQueueSendsThere() {
    let (dispatcher, codes) = (dispatcher, Recorder<DispatchError.Code?>())
    let script = Script.suspends { _ in
      let result = await dispatcher.send(Script.adds("inner"), mode: .mainThread) {
        codes.record($0.dispatchError?.code)
      }
      #expect(
        result.stores.count == 1 && result.error.map { "\($0)" }?.contains("main queue") == true)
    }
    #expect(dispatcher.dispatch(action: script, mode: .sync).resultIfEnded?.isSuccess == true)
    #expect(codes.all == [.wouldDeadlock])
  }

  /// The caller holds up the main queue for something that is on its way there, or the other way round.
  @Test func whatIsOnItsWayToTheMainQueueThatAwaitsIt() async {
    let (dispatcher, codes) = (dispatcher, Recorder<DispatchError.Code?>())
    let (began, holdsUp) = (Latch(), Latch())
    let sender = dispatcher.dispatch(
      action: Script.suspends { _ in
        began.open()
        await holdsUp.opened()
        let sent = await dispatcher.send(Script.adds("inner"), mode: .mainThread)
        codes.record(sent.dispatchError?.code)
      }, mode: .async)
    await began.opened()
    await MainActor.run {
      let waits = Script.suspends { _ in
        holdsUp.open()
        codes.record(await sender.result.dispatchError?.code)
      }
      _ = dispatcher.dispatch(action: waits, mode: .sync)
    }
    #expect(await sender.result.isSuccess)
    #expect(codes.all.count { $0 == .wouldDeadlock } == 1)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func whatABlockElsewhereSendsToTheMainQueueIsNoRing(_ mode: Dispatcher.Mode) async {
    let (dispatcher, handles) = (dispatcher, Recorder<DispatchHandle>())
    let script = Script.suspends { _ in
      let result = await dispatcher.send(Script.adds("inner"), mode: .mainThread)
      #expect(result.isSuccess == (mode != .mainThread))
    }
    Thread { handles.record(dispatcher.dispatch(action: script, mode: mode)) }.start()
    #expect(await handles.first(1)[0].result.isSuccess)
  }

  /// The call blocks a thread for tasks; the block's task needs no other to come to the main actor.
  @Test(arguments: [false, true])
  func whatABlockOfASyncDispatchInATaskSendsToTheMainQueueIsNoRing(isBehind: Bool) async {
    let (dispatcher, codes) = (dispatcher, Recorder<DispatchError.Code?>())
    dispatcher.register(store: CounterStore.counter())
    let busy = await BusyMainQueue.begin()
    let send: @Sendable () async -> Bool = {
      await dispatcher.send(CounterAction.add(1), mode: .mainThread).isSuccess
    }
    let before: Task<Bool, Never>? = isBehind ? Task.immediate { await send() } : nil
    let script = Script.suspends { _ in
      let inner = await dispatcher.send(
        Script.adds("inner"), mode: .mainThread, options: .named("inner"))
      codes.record(inner.dispatchError?.code)
    }
    let outer = Task.detached { _ = dispatcher.dispatch(action: script, mode: .sync) }
    while dispatcher.dispatches(named: "inner").isEmpty, codes.count == 0 { await Task.yield() }
    busy.end()
    await outer.value
    #expect(codes.all == [nil])
    if let before { #expect(await before.value) }
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func aMainActorBlockElsewhereIsNoRing(_ mode: Dispatcher.Mode) async {
    let (dispatcher, handles) = (dispatcher, Recorder<DispatchHandle>())
    let script = Script.answers { action, store in
      Script.Operation(action: action, store: store) { @MainActor _, _ async in }
    }
    Thread { handles.record(dispatcher.dispatch(action: script, mode: mode)) }.start()
    #expect(await handles.first(1)[0].result.isSuccess)
  }
}
