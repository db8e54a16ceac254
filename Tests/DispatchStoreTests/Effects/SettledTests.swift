import Testing

@testable import DispatchStore

@Suite("What follows from a dispatch", .timeLimit(.minutes(10)))
struct SettledTests {
  static let modes = Dispatcher.Mode.everyMode

  let dispatcher = Dispatcher()
  let log = Recorder<String>()

  /// Each cue leads to one with the number below, by another way.
  private func addChain(_ mode: Dispatcher.Mode, until free: Latch) {
    let (log, dispatcher) = (log, dispatcher)
    dispatcher.register(
      effect: Effect(Cue.self) { cue, context in
        if cue.number == 1 { await free.opened() }
        await Task.yield()
        log.record("\(cue.number)")
        let next = Cue(number: cue.number - 1)
        guard next.number > 0 else { return }
        switch cue.number % 4 {
        case 0: context.dispatch(next, mode: mode)
        case 1: await context.send(next)
        case 2: dispatcher.dispatch(action: next, mode: mode)
        default: dispatcher.dispatch(actions: [Echo(), next], mode: mode)
        }
      })
  }

  @Test(arguments: modes, modes)
  func isWaitedForHoweverItWasDispatched(_ mode: Dispatcher.Mode, _ inner: Dispatcher.Mode) async {
    let (log, free) = (log, Latch())
    addChain(inner, until: free)
    let handle = dispatcher.dispatch(action: Cue(number: 9), mode: mode)
    async let settled: Void = {
      await handle.settled()
      log.record("settled")
    }()
    _ = await log.first(8)
    free.open()
    await settled
    #expect(log.all == ["9", "8", "7", "6", "5", "4", "3", "2", "1", "settled"])
    await handle.settled()
  }

  @Test(arguments: modes)
  func ofADispatchWithoutEffectsIsNothingButItsEnd(_ mode: Dispatcher.Mode) async {
    dispatcher.addStage()
    let handle = dispatcher.dispatch(action: Script.adds("a"), mode: mode)
    await handle.settled()
    #expect(handle.hasEnded)
    await dispatcher.dispatch(actions: [], mode: mode).settled()
  }

  @Test(arguments: modes)
  func ofASequenceIsThatOfItsActions(_ mode: Dispatcher.Mode) async {
    let (log, free) = (log, Latch())
    addChain(.serial, until: free)
    dispatcher.addStage()
    let handle = dispatcher.dispatch(
      actions: [Cue(number: 1), Script.suspends { _ in await Task.yield() }, Cue(number: 2)],
      mode: mode)
    async let settled: Void = handle.settled()
    _ = await log.first(1)
    #expect(log.all == ["2"])
    free.open()
    await settled
    #expect(log.all == ["2", "1", "1"])
  }

  /// A block that dispatches a cue, by each way.
  @Test(arguments: modes, 0..<4)
  func ofWhatABlockDispatchesIsWaitedFor(_ mode: Dispatcher.Mode, _ way: Int) async {
    let (log, free, dispatcher) = (log, Latch(), dispatcher)
    addChain(.serial, until: free)
    dispatcher.addStage()
    let script =
      switch way {
      case 0: Script.runs { _ in dispatcher.dispatch(action: Cue(number: 1), mode: .sync) }
      case 1: Script.runs { _ in dispatcher.dispatch(action: Cue(number: 1), mode: .async) }
      case 2: Script.suspends { _ in await dispatcher.send(Cue(number: 1)) }
      default:
        Script.suspends { _ in
          await dispatcher.dispatch(action: Cue(number: 1), mode: .serial(lane: "inner")).ended()
        }
      }
    let handle = dispatcher.dispatch(action: script, mode: mode)
    async let settled: Void = {
      await handle.settled()
      log.record("settled")
    }()
    await handle.ended()
    free.open()
    await settled
    #expect(log.all == ["1", "settled"])
  }

  enum Way: CaseIterable {
    case sync, sent, sentInLane, sentInSync, syncInSent
  }

  /// A block dispatches without awaiting, inside of what another one runs in its thread or task.
  @Test(arguments: modes, Way.allCases)
  func ofWhatIsDispatchedInWhatABlockRunsIsWaitedFor(_ mode: Dispatcher.Mode, _ way: Way) async {
    let (log, free, dispatcher) = (log, Latch(), dispatcher)
    dispatcher.addStage()
    let last = Script.suspends { _ in
      await free.opened()
      log.record("last")
    }
    let dispatches = Script.runs { _ in dispatcher.dispatch(action: last) }
    let suspends = Script.suspends { _ in
      await Task.yield()
      dispatcher.dispatch(action: last)
    }
    let runsSync = Script.runs { _ in dispatcher.dispatch(action: dispatches, mode: .sync) }
    let script =
      switch way {
      case .sync: runsSync
      case .sent: Script.suspends { _ in await dispatcher.send(dispatches) }
      case .sentInLane:
        Script.suspends { _ in await dispatcher.send(suspends, mode: .serial(lane: "inner")) }
      case .sentInSync:
        Script.runs { _ in
          dispatcher.dispatch(
            action: Script.suspends { _ in await dispatcher.send(dispatches) }, mode: .sync)
        }
      case .syncInSent: Script.suspends { _ in await dispatcher.send(runsSync) }
      }
    let handle = await onOwnThread { dispatcher.dispatch(action: script, mode: mode) }
    async let settled: Void = {
      await handle.settled()
      log.record("settled")
    }()
    await handle.ended()
    free.open()
    await settled
    #expect(log.all == ["last", "settled"])
  }

  /// Runs of effects send what dispatches more without awaiting it, as a crawler does.
  @Test(arguments: modes)
  func ofWhatEffectsSendIsWaitedForWithWhatThatDispatches(_ mode: Dispatcher.Mode) async {
    let dispatcher = dispatcher
    let cues = dispatcher.register(
      store: Store(identifier: "cues", model: 0) {
        Perform(Cue.self) { cue, store in
          await Task.yield()
          try store.updateModel { $0 += 1 }
          dispatcher.dispatch(action: Echo(number: cue.number), mode: mode)
        }
      })
    dispatcher.register(
      effect: Effect(Echo.self) { echo, context in
        for child in [2 * echo.number, 2 * echo.number + 1] where child < 100 {
          await context.send(Cue(number: child), mode: .serial(lane: child))
        }
      })
    await dispatcher.dispatch(action: Cue(number: 1), mode: mode).settled()
    #expect(cues.model == 99)
  }

  /// What hooks, observers and completions dispatch is on its own account.
  @Test func ofWhatACompletionDispatchesIsNotWaitedFor() async {
    let (log, free, dispatcher) = (log, Latch(), dispatcher)
    addChain(.serial, until: free)
    let inner = Recorder<DispatchHandle>()
    await dispatcher.dispatch(action: Echo(), mode: .async) {
      inner.record(dispatcher.dispatch(action: Cue(number: 1)))
    }.settled()
    #expect(log.all.isEmpty)
    free.open()
    await inner.all[0].settled()
    #expect(log.all == ["1"])
  }

  @Test(arguments: modes)
  func cancellingTheCauseDoesNotCancelIt(_ mode: Dispatcher.Mode) async {
    let (log, free) = (log, Latch())
    dispatcher.register(
      effect: Effect(Cue.self) { _, _ in
        log.record("begins")
        do { try await waits(for: free) } catch { return log.record("cancelled") }
        log.record("ends")
      })
    let handle = dispatcher.dispatch(action: Cue(), mode: mode)
    _ = await log.first(1)
    await handle.ended()
    handle.cancel()
    free.open()
    await handle.settled()
    #expect(log.all == ["begins", "ends"])
  }

  @Test(arguments: modes)
  func isCancelledWithItsCauseWhereThatIsAskedFor(_ mode: Dispatcher.Mode) async {
    let log = log
    dispatcher.addStage()
    dispatcher.register(
      effect: Effect(Cue.self) { cue, context in
        if cue.number > 1 {
          context.dispatch(Cue(number: cue.number - 1), mode: mode)
        } else {
          context.dispatch(
            Script.suspends { _ in
              log.record("block")
              do { try await waits(for: Latch()) } catch { log.record("cancelled block") }
            }, mode: mode == .sync ? .async : mode)
        }
        do { try await waits(for: Latch()) } catch { log.record("cancelled \(cue.number)") }
      })
    let handle = dispatcher.dispatch(action: Cue(number: 3), mode: mode)
    _ = await log.first(1)
    handle.cancelWithEffects()
    await handle.settled()
    #expect(log.all.first == "block")
    #expect(
      log.all.sorted() == ["block", "cancelled 1", "cancelled 2", "cancelled 3", "cancelled block"])
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func whatAnEndedRunHasDispatchedIsCancelledToo(_ mode: Dispatcher.Mode) async {
    let (log, handles) = (log, Recorder<DispatchHandle>())
    dispatcher.addStage()
    dispatcher.register(
      effect: Effect(Cue.self, policy: .serial) { cue, context in
        if cue.number == 1 { return log.record("next") }
        handles.record(
          context.dispatch(
            Script.suspends { _ in
              log.record("block")
              try await waits(for: Latch())
            }, mode: mode))
      })
    let handle = dispatcher.dispatch(action: Cue())
    dispatcher.dispatch(action: Cue(number: 1))
    #expect(await log.first(2).sorted() == ["block", "next"])
    handle.cancelWithEffects()
    await handle.settled()
    #expect(await handles.all[0].result.error is CancellationError)
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func cancelledBeforeItsEndADispatchHasNoEffects(_ mode: Dispatcher.Mode) async {
    let (log, free) = (log, Latch())
    dispatcher.addStage()
    dispatcher.register(
      effect: Effect(Script.self, runsRegardless: true) { _, _ in log.record("effect") })
    let handle = dispatcher.dispatch(
      action: Script.suspends { _ in
        log.record("block")
        await free.opened()
      }, mode: mode)
    _ = await log.first(1)
    handle.cancelWithEffects()
    free.open()
    await handle.settled()
    #expect(log.all == ["block"])
  }

  /// Trees of effects, whose size each handle's settling sees.
  @Test(arguments: 0..<4)
  func isWaitedForWhereManyThreadsDispatch(_ round: Int) async {
    let dispatcher = dispatcher
    let counts = (0..<4).map { _ in Recorder<Int>() }
    dispatcher.register(
      effect: Effect(Cue.self) { cue, context in
        let (tree, depth) = (cue.number / 10, cue.number % 10)
        if depth > 0 {
          for child in 0..<2 {
            let mode = Dispatcher.Mode.everyMode[(child + depth + round) % 5]
            context.dispatch(Cue(number: cue.number - 1), mode: mode)
          }
        }
        await Task.yield()
        counts[tree].record(depth)
      })
    await withDiscardingTaskGroup { group in
      for tree in 0..<4 {
        group.addTask {
          for times in 1...10 {
            let mode = Dispatcher.Mode.everyMode[(tree + times) % 5]
            await dispatcher.dispatch(action: Cue(number: 10 * tree + 4), mode: mode).settled()
            #expect(counts[tree].count == 31 * times)
          }
        }
      }
    }
  }

  /// The record of a relative may be released between the end and the call.
  @Test func isCalledByTheThreadThatEndsTheLastOfThem() {
    let dispatch = Dispatch()
    let details = dispatch.makeDetails()
    #expect(details.waitUntilSettled { log.record("settled") })
    _ = details.withState { $0.end(DispatchResult(dispatchID: .make(on: .current))) }
    details.recordIsGone()
    details.leaveFamily()
    #expect(log.all == ["settled"])
  }
}
