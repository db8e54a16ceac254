import DispatchStoreTesting
import Foundation
import Testing

@testable import DispatchStore

@Suite("Limits", .timeLimit(.minutes(10)))
struct DispatchLimitTests {
  let dispatcher = Dispatcher(name: "limited")
  let free = Latch()

  /// Makes an action whose block, once it goes on, sends one that needs a unit, and records how that ended.
  private func needsUnit(
    of limit: DispatchLimit, _ codes: Recorder<DispatchError.Code?>,
    goesOn: @escaping @Sendable () async -> Void = {}
  ) -> Script {
    .suspends { [dispatcher] _ in
      await goesOn()
      let result = await dispatcher.send(
        Script.adds("x"), to: "inner", mode: .serial(lane: "inner"), options: .limited(by: limit))
      codes.record(result.errorCode)
    }
  }

  /// Dispatches one that goes on until the latch opens, and so many that wait behind it or run beside it.
  private func fill(
    _ limit: DispatchLimit, _ mode: Dispatcher.Mode, waiting: Int = 0, notes: Bool = false
  ) async -> [DispatchHandle] {
    dispatcher.addStage()
    let (started, free) = (Latch(), free)
    let holds = Script.suspends { stage in
      started.open()
      await free.opened()
      if notes { stage.updateModel { $0.append("held") } }
    }
    let options = DispatchOptions.limited(by: limit)
    var handles = [dispatcher.dispatch(action: holds, mode: mode, options: options)]
    await started.opened()
    for index in 0..<waiting {
      handles.append(
        dispatcher.dispatch(action: Script.adds("\(index)"), mode: mode, options: options))
    }
    return handles
  }

  @Test(arguments: Dispatcher.Mode.queuedModes, [DispatchLimit.Overflow.reject, .dropNewest])
  func whatIsAboveItEndsAtOnce(mode: Dispatcher.Mode, overflow: DispatchLimit.Overflow) async {
    let limit = DispatchLimit(1, overflow: overflow, name: "one")
    let held = await fill(limit, mode)
    let code: DispatchError.Code = overflow == .reject ? .limitExceeded : .dropped
    let completions = Recorder<DispatchError.Code?>()
    let above = dispatcher.dispatch(Script.adds("x"), mode: mode, options: .limited(by: limit)) {
      completions.record($0.errorCode)
    }
    let result = await above.result
    #expect(result.errorCode == code)
    #expect("\(result.error!)".contains("one"))
    #expect(await completions.first(1) == [code])
    let sent = await dispatcher.send(
      Script.adds("x"), mode: mode, options: .limited(by: limit))
    #expect(sent.errorCode == code)
    // Others are not concerned.
    let other = Dispatcher()
    other.addStage()
    #expect(await other.dispatch(action: Script.adds("y"), mode: mode).result.isSuccess)
    let figures = limit.statistics
    #expect(figures.inFlight == 1 && figures.admitted == 1 && figures.waiting == 0)
    #expect(figures.rejected + figures.dropped == 2)
    #expect(figures.oldest! >= .zero)
    free.open()
    #expect(await held[0].result.isSuccess)
    let next = await dispatcher.send(Script.adds("z"), mode: mode, options: .limited(by: limit))
    #expect(next.isSuccess)
    #expect(limit.statistics.inFlight == 0)
  }

  @Test(arguments: [Dispatcher.Mode.async, .serial])
  func whatIsAboveItIsReleasedAlsoWhereItIsCancelledBeforeItsCompletion(mode: Dispatcher.Mode) async
  {
    let (released, completions) = (EventCount(of: 1), Recorder<DispatchError.Code?>())
    do {
      let narrow = Dispatcher(queue: .wide(1))
      narrow.addStage()
      let mortal = Mortal(released)
      narrow.register(
        middleware: RecordingMiddleware(will: { _, _, _ in withExtendedLifetime(mortal) { .pass } })
      )
      let (started, free) = (Latch(), free)
      let limit = DispatchLimit(1, overflow: .reject)
      let holds = Script.blocks(opening: started, until: free)
      let held = narrow.dispatch(action: holds, mode: mode, options: .limited(by: limit))
      await started.opened()
      let above = narrow.dispatch(
        Script.adds("x"), mode: mode, options: [.limited(by: limit), .timeout(.seconds(3_600))]
      ) { completions.record($0.errorCode) }
      above.cancel()
      free.open()
      #expect(await above.result.errorCode == .limitExceeded)
      #expect(await completions.first(1) == [.limitExceeded])
      #expect(await held.result.isSuccess)
    }
    await released.full()
    #expect(completions.count == 1)
  }

  @Test(arguments: Dispatcher.Mode.laneModes)
  func theOldestThatHasNotStartedIsDroppedForTheNewest(mode: Dispatcher.Mode) async {
    let limit = DispatchLimit(3, overflow: .dropOldest)
    let handles = await fill(limit, mode, waiting: 2)
    let newest = (0..<2).map { index in
      dispatcher.dispatch(
        action: Script.adds("new \(index)"), mode: mode, options: .limited(by: limit))
    }
    for dropped in handles[1...] { #expect(await dropped.result.errorCode == .dropped) }
    #expect(limit.statistics.inFlight == 3)
    #expect(limit.statistics.dropped == 2)
    free.open()
    for handle in newest + [handles[0]] { #expect(await handle.result.isSuccess) }
    #expect((dispatcher.store(with: "stage") as? Stage)?.model == ["new 0", "new 1"])
    #expect(limit.statistics.inFlight == 0)
  }

  /// It ends once its scheduler has it.
  @Test(arguments: Dispatcher.Mode.laneModes)
  func oneWhoseDelayHasJustEndedIsDropped(mode: Dispatcher.Mode) async {
    let limit = DispatchLimit(2, overflow: .dropOldest)
    let handles = await fill(limit, mode, waiting: 1)
    let oldest = handles[1].dispatch!
    oldest.makeDetails().withState { $0.awaitAcceptance() }
    let newest = dispatcher.dispatch(
      action: Script.adds("new"), mode: mode, options: .limited(by: limit))
    oldest.endAcceptance()
    #expect(await handles[1].result.errorCode == .dropped)
    free.open()
    #expect(await handles[0].result.isSuccess)
    #expect(await newest.result.isSuccess)
  }

  /// Whichever limit was made first.
  @Test(arguments: Dispatcher.Mode.laneModes, [DispatchLimit.Overflow.reject, .dropNewest])
  func noneIsDroppedForOneThatAnotherLimitRefuses(
    mode: Dispatcher.Mode, overflow: DispatchLimit.Overflow
  ) async {
    let limit = DispatchLimit(2, overflow: .dropOldest)
    let other = DispatchLimit(1, overflow: overflow)
    var handles = await fill(limit, mode, waiting: 1)
    dispatcher.addStage("other")
    handles.append(
      dispatcher.dispatch(
        storeIdentifier: "other", action: Script.suspends { [free] _ in await free.opened() },
        options: .limited(by: other)))
    let refused = dispatcher.dispatch(
      action: Script.adds("x"), mode: mode, options: .limited(by: limit, other))
    #expect(await refused.result.errorCode == (overflow == .reject ? .limitExceeded : .dropped))
    #expect(limit.statistics.dropped == 0 && limit.statistics.inFlight == 2)
    free.open()
    for handle in handles { #expect(await handle.result.isSuccess) }
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func whereAllHaveStartedTheNewestIsDropped(mode: Dispatcher.Mode) async {
    let limit = DispatchLimit(1, overflow: .dropOldest)
    let held = await fill(limit, mode)
    let newest = dispatcher.dispatch(
      action: Script.adds("x"), mode: mode, options: .limited(by: limit))
    #expect(await newest.result.errorCode == .dropped)
    free.open()
    #expect(await held[0].result.isSuccess)
  }

  @Test(arguments: Dispatcher.Mode.offMainModes)
  func aSequenceThatPausesBetweenTwoActionsIsNotDropped(mode: Dispatcher.Mode) async {
    let limit = DispatchLimit(1, overflow: .dropOldest)
    let (dispatcher, stage) = (dispatcher, dispatcher.addStage())
    let suspends = Script.runs { _ in dispatcher.queue.isSuspended = true }
    let paused = dispatcher.dispatch(
      actions: [suspends, Script.adds("b")], mode: mode, options: .limited(by: limit))
    let state = paused.dispatch!.makeDetails()
    while !state.withState(\.isBetweenActions) { await Task.yield() }
    let newest = dispatcher.dispatch(
      action: Script.adds("x"), mode: mode, options: .limited(by: limit))
    #expect(await newest.result.errorCode == .dropped)
    dispatcher.queue.isSuspended = false
    #expect(await paused.result.isSuccess)
    #expect(stage.model == ["b"])
  }

  /// Not what another limit, or an option, refuses once it has a unit.
  @Test(arguments: Dispatcher.Mode.queuedModes)
  func onlyWhatIsAcceptedCountsAsAdmitted(mode: Dispatcher.Mode) async {
    let (first, second) = (DispatchLimit(10), DispatchLimit(1))
    let held = await fill(second, mode)
    let options = DispatchOptions.limited(by: first, second)
    for _ in 0..<3 {
      let refused = dispatcher.dispatch(action: Script.adds("x"), mode: mode, options: options)
      #expect(await refused.result.errorCode == .limitExceeded)
    }
    #expect(first.statistics.admitted == 0 && second.statistics.admitted == 1)
    free.open()
    #expect(await held[0].result.isSuccess)
    #expect(await dispatcher.send(Script.adds("y"), mode: mode, options: options).isSuccess)
    #expect(first.statistics.admitted == 1 && second.statistics.admitted == 2)
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func aTaskThatSendsWaitsForItsTurn(mode: Dispatcher.Mode) async {
    let limit = DispatchLimit(1, overflow: .wait)
    let held = await fill(limit, mode)
    let (dispatcher, log) = (dispatcher, Recorder<Int>())
    var tasks: [Task<Bool, Never>] = []
    for index in 0..<5 {
      tasks.append(
        Task.immediate {
          await dispatcher.send(
            Script.runs { _ in log.record(index) }, mode: mode, options: .limited(by: limit)
          ).isSuccess
        })
    }
    #expect(limit.statistics.waiting == 5)
    #expect(log.all.isEmpty)
    free.open()
    for task in tasks { #expect(await task.value) }
    #expect(await held[0].result.isSuccess)
    #expect(log.all == [0, 1, 2, 3, 4])
    #expect(limit.statistics.inFlight == 0)
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func aTaskThatIsCancelledWaitsNoLonger(mode: Dispatcher.Mode) async {
    let limit = DispatchLimit(1, overflow: .wait)
    _ = await fill(limit, mode)
    let dispatcher = dispatcher
    let task = Task.immediate {
      await dispatcher.send(Script.adds("x"), mode: mode, options: .limited(by: limit))
    }
    #expect(limit.statistics.waiting == 1)
    task.cancel()
    #expect(await task.value.error is CancellationError)
    #expect(limit.statistics.waiting == 0)
    free.open()
    let next = await dispatcher.send(Script.adds("y"), mode: mode, options: .limited(by: limit))
    #expect(next.isSuccess)
    #expect((dispatcher.store(with: "stage") as? Stage)?.model == ["y"])
  }

  /// Waiting counts.
  @Test(arguments: Dispatcher.Mode.queuedModes)
  func aTaskWaitsNoLongerThanItsTimeout(mode: Dispatcher.Mode) async {
    let (clock, limit, free) = (VirtualClock(), DispatchLimit(1, overflow: .wait), free)
    let (dispatcher, _) = makeStage(Dispatcher(clock: clock))
    let started = Latch()
    let held = dispatcher.dispatch(
      action: Script.holds(opening: started, until: free), mode: mode, options: .limited(by: limit))
    await started.opened()
    let task = Task.immediate {
      await dispatcher.send(
        Script.adds("x"), mode: mode, options: [.limited(by: limit), .timeout(.seconds(1))])
    }
    await clock.pass(.seconds(1))
    #expect(await task.value.errorCode == .timedOut)
    #expect(limit.statistics.waiting == 0)
    free.open()
    #expect(await held.result.isSuccess)
  }

  /// On a thread of the program's own, also for the first step of a group.
  @Test(.timeLimit(.minutes(1)), arguments: Dispatcher.SendMode.everyMode, [false, true])
  func aThreadBlocksInDispatch(mode: Dispatcher.SendMode, inGroup: Bool) async {
    let limit = DispatchLimit(1, overflow: .wait)
    let held = await fill(limit, .serial(lane: "held"), notes: true)
    let (dispatcher, free) = (dispatcher, free)
    let (ends, returns) = (Recorder<Bool>(), Recorder<Bool>())
    Thread {
      let options = DispatchOptions.limited(by: limit)
      if inGroup {
        let step = ActionStep(Script.adds("x"), mode: mode, options: options)
        dispatcher.dispatch(ActionGroup { step }) { ends.record($0.isSuccess) }
      } else {
        dispatcher.dispatch(Script.adds("x"), mode: mode.mode, options: options) {
          ends.record($0.isSuccess)
        }
      }
      // No unit is free before the latch is open.
      returns.record(free.isOpen)
    }.start()
    while limit.statistics.waiting == 0, ends.count == 0, returns.count == 0 { await Task.yield() }
    free.open()
    #expect(await ends.first(1) == [true])
    #expect(await returns.first(1) == [true])
    #expect(await held[0].result.isSuccess)
    #expect((dispatcher.store(with: "stage") as? Stage)?.model == ["held", "x"])
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func whereItsThreadMayNotBlockADispatchIsRefused(mode: Dispatcher.Mode) async {
    let limit = DispatchLimit(1, overflow: .wait)
    let held = await fill(limit, mode)
    let inTask = dispatcher.dispatch(
      action: Script.adds("x"), mode: mode, options: .limited(by: limit))
    #expect(await inTask.result.errorCode == .wouldDeadlock)
    free.open()
    #expect(await held[0].result.isSuccess)
  }

  /// Also inside a `.sync` dispatch, for which a thread of the library waits.
  @Test(.timeLimit(.minutes(1)), arguments: Dispatcher.Mode.queuedModes, [false, true])
  func insideASyncDispatchOnAThreadThatMayNotBlockOneIsRefused(
    mode: Dispatcher.Mode, isAsync: Bool
  ) async {
    let (limit, codes) = (DispatchLimit(1, overflow: .wait), Recorder<DispatchError.Code?>())
    let held = await fill(limit, .serial(lane: "held"))
    let (dispatcher, free) = (dispatcher, free)
    dispatcher.addStage("other")
    let limited: @Sendable () -> Void = {
      dispatcher.dispatch(Script.adds("x"), to: "other", options: .limited(by: limit)) {
        codes.record($0.errorCode)
      }
    }
    let nested: @Sendable () -> Void = {
      dispatcher.dispatch(
        storeIdentifier: "other", action: Script.runs { _ in limited() }, mode: .sync)
      dispatcher.dispatch(storeIdentifier: "other", action: Script.adds("x"), mode: .sync) {
        limited()
      }
    }
    let outer = dispatcher.dispatch(
      storeIdentifier: "other",
      action: isAsync
        ? Script.suspends { _ in
          await Task.yield()
          nested()
        } : .runs { _ in nested() }, mode: mode)
    #expect(await outer.result.isSuccess)
    #expect(await codes.first(2) == [.wouldDeadlock, .wouldDeadlock])
    free.open()
    #expect(await held[0].result.isSuccess)
  }

  /// It would go on only after what waits for it.
  @Test(arguments: Dispatcher.Mode.queuedModes, Dispatcher.Mode.queuedModes)
  func insideADispatchThatHasAUnitNoneIsWaitedFor(
    mode: Dispatcher.Mode, inner: Dispatcher.Mode
  ) async {
    let (dispatcher, limit, codes) = (
      dispatcher, DispatchLimit(1, overflow: .wait), Recorder<DispatchError.Code?>()
    )
    dispatcher.addStage()
    dispatcher.addStage("inner")
    let outer = dispatcher.dispatch(
      storeIdentifier: "stage",
      action: Script.suspends { _ in
        let result = await dispatcher.send(
          Script.adds("x"), to: "inner", mode: inner, options: .limited(by: limit))
        codes.record(result.errorCode)
      }, mode: mode, options: .limited(by: limit))
    #expect(await outer.result.isSuccess)
    #expect(codes.all == [.wouldDeadlock])
    #expect(limit.statistics.inFlight == 0)
  }

  /// Also once its task has waited for a unit of another limit.
  @Test(.timeLimit(.minutes(1)), arguments: Dispatcher.Mode.queuedModes)
  func insideADispatchThatHasAUnitNoneIsWaitedForAfterAnother(mode: Dispatcher.Mode) async {
    let (dispatcher, codes) = (dispatcher, Recorder<DispatchError.Code?>())
    let (first, second) = (DispatchLimit(1, overflow: .wait), DispatchLimit(1, overflow: .wait))
    let held = await fill(first, .async)
    dispatcher.addStage("outer")
    let outer = dispatcher.dispatch(
      storeIdentifier: "outer",
      action: Script.suspends { _ in
        let result = await dispatcher.send(
          Script.adds("x"), to: "stage", mode: mode, options: .limited(by: first, second))
        codes.record(result.errorCode)
      }, mode: .async, options: .limited(by: second))
    while first.statistics.waiting == 0 { await Task.yield() }
    free.open()
    #expect(await outer.result.isSuccess)
    #expect(codes.all == [.wouldDeadlock])
    #expect(await held[0].result.isSuccess)
    #expect(first.statistics.inFlight == 0 && second.statistics.inFlight == 0)
  }

  /// Whether its block awaits the handle, or blocks its thread.
  @Test(.timeLimit(.minutes(1)), arguments: Dispatcher.Mode.queuedModes, [false, true])
  func insideWhatADispatchThatHasAUnitAwaitsNoneIsWaitedFor(
    mode: Dispatcher.Mode, blocks: Bool
  ) async {
    let (dispatcher, limit) = (dispatcher, DispatchLimit(1, overflow: .wait))
    let (outers, codes) = (Recorder<DispatchHandle>(), Recorder<DispatchError.Code?>())
    for name in ["outer", "middle", "inner"] { dispatcher.addStage(name) }
    let middle = needsUnit(of: limit, codes) {
      let outer = await outers.first(1)[0].dispatch!
      while WaitGraph.waits(of: outer).isEmpty { await Task.yield() }
    }
    let begin: @Sendable () -> DispatchHandle = {
      dispatcher.dispatch(
        storeIdentifier: "middle", action: middle, mode: .serial(lane: "middle"))
    }
    let outer = dispatcher.dispatch(
      storeIdentifier: "outer",
      action: blocks
        ? Script.runs { _ in begin().wait() } : .suspends { _ in await begin().ended() },
      mode: mode, options: .limited(by: limit))
    outers.record(outer)
    #expect(await outer.result.isSuccess)
    #expect(codes.all == [.wouldDeadlock])
    #expect(limit.statistics.inFlight == 0)
  }

  /// It came first: then the wait of the one that has the unit is refused, also one for a lane.
  @Test(.timeLimit(.minutes(1)), arguments: Dispatcher.Mode.queuedModes, [false, true])
  func aDispatchThatHasAUnitIsRefusedTheWaitForOneThatNeedsIt(
    mode: Dispatcher.Mode, needsLane: Bool
  ) async {
    let (dispatcher, limit) = (dispatcher, DispatchLimit(1, overflow: .wait))
    let codes = Recorder<DispatchError.Code?>()
    for name in ["outer", "middle", "inner"] { dispatcher.addStage(name) }
    let middle = needsUnit(of: limit, codes)
    let outer = dispatcher.dispatch(
      storeIdentifier: "outer",
      action: Script.suspends { _ in
        let handle = dispatcher.dispatch(
          storeIdentifier: "middle", action: middle, mode: .serial(lane: "middle"))
        let waiting = handle.dispatch!
        while WaitGraph.waits(of: waiting).isEmpty { await Task.yield() }
        let code =
          needsLane
          ? await dispatcher.send(Script.adds("y"), to: "inner", mode: .serial(lane: "middle"))
            .errorCode : await handle.result.errorCode
        codes.record(code)
      }, mode: mode, options: .limited(by: limit))
    #expect(await outer.result.isSuccess)
    #expect(await codes.first(2) == [.wouldDeadlock, nil])
    #expect(await dispatcher.drain().isComplete)
    #expect(limit.statistics.inFlight == 0)
  }

  @Test(.timeLimit(.minutes(1)), arguments: Dispatcher.Mode.queuedModes)
  func insideWhatADispatchThatHasAUnitComesAfterNoneIsWaitedFor(mode: Dispatcher.Mode) async {
    let (dispatcher, limit) = (dispatcher, DispatchLimit(1, overflow: .wait))
    let (codes, hasUnit) = (Recorder<DispatchError.Code?>(), Latch())
    for name in ["first", "next", "inner"] { dispatcher.addStage(name) }
    let first = dispatcher.dispatch(
      storeIdentifier: "first",
      action: needsUnit(of: limit, codes) { await hasUnit.opened() },
      mode: .serial(lane: "first"))
    let next = dispatcher.dispatch(
      storeIdentifier: "next", action: Script.adds("y"), mode: mode,
      options: [.limited(by: limit), .after(first)])
    hasUnit.open()
    #expect(await next.result.isSuccess)
    #expect(codes.all == [.wouldDeadlock])
    #expect(limit.statistics.inFlight == 0)
  }

  /// Also between two of its steps, when it waits for none of them.
  @Test(.timeLimit(.minutes(1)), arguments: Dispatcher.Mode.queuedModes)
  func aDispatchThatHasAUnitIsRefusedTheWaitForAGroupThatNeedsIt(mode: Dispatcher.Mode) async {
    let (dispatcher, limit) = (dispatcher, DispatchLimit(1, overflow: .wait))
    let codes = Recorder<DispatchError.Code?>()
    for name in ["outer", "step", "inner"] { dispatcher.addStage(name) }
    let needs = needsUnit(of: limit, codes)
    let group = ActionGroup {
      ActionStep(Script.adds("first"), to: "step", mode: .serial(lane: "step"))
      ActionStep(needs, to: "step", mode: .serial(lane: "step"))
    }
    let outer = dispatcher.dispatch(
      storeIdentifier: "outer",
      action: Script.suspends { _ in
        let result = await dispatcher.dispatch(group).result
        codes.record(result.errorCode)
      }, mode: mode, options: .limited(by: limit))
    #expect(await outer.result.isSuccess)
    #expect(await codes.first(2).count { $0 == .wouldDeadlock } == 1)
    #expect(await dispatcher.drain().isComplete)
    #expect(limit.statistics.inFlight == 0)
  }

  /// It frees a unit.
  @Test(.timeLimit(.minutes(1)), arguments: Dispatcher.Mode.queuedModes)
  func whereAnotherOneThatHasAUnitGoesOnNoWaitIsRefused(mode: Dispatcher.Mode) async {
    let (dispatcher, limit) = (dispatcher, DispatchLimit(2, overflow: .wait))
    let held = await fill(limit, .serial(lane: "held"))
    let (outers, codes) = (Recorder<DispatchHandle>(), Recorder<DispatchError.Code?>())
    for name in ["outer", "middle", "inner"] { dispatcher.addStage(name) }
    let middle = needsUnit(of: limit, codes) {
      let outer = await outers.first(1)[0].dispatch!
      while WaitGraph.waits(of: outer).isEmpty { await Task.yield() }
    }
    let outer = dispatcher.dispatch(
      storeIdentifier: "outer",
      action: Script.suspends { _ in
        await dispatcher.dispatch(
          storeIdentifier: "middle", action: middle, mode: .serial(lane: "middle")
        ).ended()
      }, mode: mode, options: .limited(by: limit))
    outers.record(outer)
    while limit.statistics.waiting == 0, codes.count == 0 { await Task.yield() }
    free.open()
    #expect(await outer.result.isSuccess)
    #expect(codes.all == [nil])
    #expect(await held[0].result.isSuccess)
    #expect(limit.statistics.inFlight == 0)
  }

  @Test(.timeLimit(.minutes(1)), arguments: Dispatcher.Mode.queuedModes)
  func ofTheWaitsOfAllThatHaveUnitsTheLastIsRefused(mode: Dispatcher.Mode) async {
    let (dispatcher, limit) = (dispatcher, DispatchLimit(2, overflow: .wait))
    let (codes, haveUnits) = (Recorder<DispatchError.Code?>(), Latch())
    dispatcher.addStage("inner")
    var outers: [DispatchHandle] = []
    for index in 0..<2 {
      dispatcher.addStage("outer \(index)")
      dispatcher.addStage("middle \(index)")
      let middle = needsUnit(of: limit, codes)
      let action = Script.suspends { _ in
        await haveUnits.opened()
        let handle = dispatcher.dispatch(
          storeIdentifier: "middle \(index)", action: middle, mode: .serial(lane: index))
        codes.record(await handle.result.errorCode)
      }
      outers.append(
        dispatcher.dispatch(
          storeIdentifier: "outer \(index)", action: action, mode: mode,
          options: .limited(by: limit)))
    }
    haveUnits.open()
    for outer in outers { #expect(await outer.result.isSuccess) }
    let all = await codes.first(4)
    #expect(all.count { $0 == .wouldDeadlock } == 1 && all.count { $0 == nil } == 3)
    #expect(limit.statistics.inFlight == 0)
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func countsASequenceOnce(mode: Dispatcher.Mode) async {
    let limit = DispatchLimit(1)
    dispatcher.addStage()
    let list = dispatcher.dispatch(
      actions: [Script.adds("a"), Script.adds("b")], mode: mode, options: .limited(by: limit))
    #expect(await list.result.isSuccess)
    #expect(limit.statistics.admitted == 1)
    #expect(limit.statistics.inFlight == 0)
  }

  /// A dispatch that has timed out goes on until its block has ended.
  @Test(arguments: Dispatcher.Mode.queuedModes)
  func isHeldUntilTheStoresHaveEnded(mode: Dispatcher.Mode) async {
    let (clock, limit, free) = (VirtualClock(), DispatchLimit(1, overflow: .wait), free)
    let (dispatcher, _) = makeStage(Dispatcher(clock: clock))
    let (started, ended) = (Latch(), Latch())
    let timed = dispatcher.dispatch(
      action: Script.suspends { _ in
        started.open()
        await free.opened()
        ended.open()
      }, mode: mode, options: [.limited(by: limit), .timeout(.seconds(1))])
    await started.opened()
    await clock.pass(.seconds(1))
    #expect(await timed.result.errorCode == .timedOut)
    #expect(limit.statistics.inFlight == 1)
    free.open()
    await ended.opened()
    let next = await dispatcher.send(Script.adds("x"), mode: mode, options: .limited(by: limit))
    #expect(next.isSuccess)
  }
}

// MARK: - After the stores

extension DispatchLimitTests {
  /// So a completion may dispatch the next one of a chain.
  @Test(.timeLimit(.minutes(1)), arguments: Way.all)
  func isFreeWhenTheCompletionRuns(way: Way) async {
    let (dispatcher, limit) = (dispatcher, DispatchLimit(1))
    let (inFlight, next) = (Recorder<Int>(), Recorder<Bool>())
    dispatcher.addStage()
    let options: DispatchOptions = [.limited(by: limit), .skippedIfInFlight("chain")]
    let completion: @Sendable () -> Void = {
      inFlight.record(limit.statistics.inFlight)
      dispatcher.dispatch(Script.adds("next"), options: options) { next.record($0.isSuccess) }
    }
    let scripts = [Script.adds("x"), .suspends { _ in await Task.yield() }]
    for script in scripts {
      _ = await dispatcher.begin(script, way.mode, options, sends: way.sends) { _ in completion() }
        .value
      _ = await next.first(inFlight.count)
    }
    await onOwnThread {
      dispatcher.dispatch(actions: scripts, mode: way.mode, options: options, then: completion)
    }.ended()
    _ = await next.first(inFlight.count)
    let group = ActionGroup { Script.suspends { _ in await Task.yield() } }
    _ = await dispatcher.dispatch(group, options: options) { _ in completion() }.ended()
    #expect(await next.first(4) == [true, true, true, true])
    #expect(inFlight.all == [0, 0, 0, 0])
  }

  /// And when an effect begins.
  @Test(.timeLimit(.minutes(1)), arguments: Dispatcher.Mode.laneModes)
  func isFreeForWhatAnEffectSends(mode: Dispatcher.Mode) async {
    let limits = DispatchLimits(perLane: 1, queue: DispatchLimit(1))
    let (dispatcher, results) = (Dispatcher(limits: limits), Recorder<Bool>())
    dispatcher.addStage()
    dispatcher.register(
      effect: Effect(Script.self) { script, context in
        guard script.description == "first" else { return }
        let next = await context.send(Script.adds("next"), mode: Dispatcher.SendMode(mode)!)
        results.record(next.isSuccess)
      })
    for _ in 0..<10 {
      let first = dispatcher.dispatch(action: Script.runs("first") { _ in }, mode: mode)
      await first.settled()
    }
    #expect(results.all == Array(repeating: true, count: 10))
  }
}

@Suite("Limits of a dispatcher", .timeLimit(.minutes(10)))
struct DispatcherLimitTests {
  @Test(arguments: Dispatcher.Mode.laneModes)
  func boundEachLaneByItself(mode: Dispatcher.Mode) async {
    let dispatcher = Dispatcher(limits: DispatchLimits(perLane: 2))
    let (free, started) = (Latch(), Latch())
    dispatcher.addStage()
    let holds = Script.holds(opening: started, until: free)
    let held = dispatcher.dispatch(action: holds, mode: mode)
    await started.opened()
    let second = dispatcher.dispatch(action: Script.adds("a"), mode: mode)
    let third = dispatcher.dispatch(action: Script.adds("b"), mode: mode)
    #expect(await third.result.errorCode == .limitExceeded)
    #expect(dispatcher.statistics(ofLane: mode)?.inFlight == 2)
    dispatcher.addStage("other")
    let other = dispatcher.dispatch(
      storeIdentifier: "other", action: Script.adds("c"), mode: .serial(lane: "another"))
    #expect(await other.result.isSuccess)
    // One that has its units before is counted once.
    let sent = await dispatcher.send(Script.adds("d"), to: "other", mode: .serial(lane: "third"))
    #expect(sent.isSuccess)
    free.open()
    #expect(await held.result.isSuccess)
    #expect(await second.result.isSuccess)
  }

  @Test func boundAllLanesAndTheQueue() async {
    let (lanes, queue) = (DispatchLimit(2, name: "lanes"), DispatchLimit(1, name: "queue"))
    let dispatcher = Dispatcher(limits: DispatchLimits(lanes: lanes, queue: queue))
    let (free, started) = (Latch(), Recorder<Int>())
    for index in 0..<3 {
      dispatcher.addStage("\(index)")
      let mode: Dispatcher.Mode = index == 2 ? .async : .serial(lane: index)
      dispatcher.dispatch(
        storeIdentifier: "\(index)",
        action: Script.suspends { _ in
          started.record(index)
          await free.opened()
        }, mode: mode)
    }
    _ = await started.first(3)
    let third = dispatcher.dispatch(
      storeIdentifier: "0", action: Script.adds("x"), mode: .serial(lane: "third"))
    #expect("\((await third.result).error!)".contains("lanes"))
    let another = dispatcher.dispatch(storeIdentifier: "0", action: Script.adds("x"), mode: .async)
    #expect("\((await another.result).error!)".contains("queue"))
    // `.sync` is in no queue.
    #expect(
      dispatcher.dispatch(storeIdentifier: "0", action: Script.runs { _ in }, mode: .sync)
        .resultIfEnded?.isSuccess == true)
    free.open()
    #expect(await dispatcher.drain().isComplete)
  }

  /// A producer that is faster than its consumer, and waits.
  @Test(arguments: Dispatcher.Mode.queuedModes)
  func neverHaveMoreInFlightThanTheirBound(mode: Dispatcher.Mode) async {
    let limit = DispatchLimit(3, overflow: .wait)
    let dispatcher = Dispatcher()
    let (inside, most, sum) = (Locked(0), Locked(0), Load.count(100))
    dispatcher.addStage()
    await withDiscardingTaskGroup { group in
      for _ in 0..<8 {
        group.addTask {
          for _ in 0..<sum {
            let result = await dispatcher.send(
              Script.suspends { stage in
                let present = inside.withLock { inside in
                  inside += 1
                  return inside
                }
                most.withLock { $0 = max($0, present) }
                await Task.yield()
                inside.withLock { $0 -= 1 }
                stage.updateModel { $0 = ["\(present)"] }
              }, mode: mode, options: .limited(by: limit))
            #expect(result.isSuccess)
          }
        }
      }
    }
    #expect(most.withLock { $0 } <= 3)
    #expect(limit.statistics.admitted == 8 * sum)
    #expect(limit.statistics.inFlight == 0 && limit.statistics.waiting == 0)
  }
}
