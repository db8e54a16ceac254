import DispatchStore
import Foundation
import Testing

/// What a group's handle does: cancel, await; and waits that can't end.
@Suite("Group handles", .timeLimit(.minutes(10)))
struct GroupHandleTests {
  var (dispatcher, stage) = makeStage()

  @Test(arguments: Dispatcher.SendMode.everyMode)
  func cancelsWhatRunsAndStartsNothingMore(_ mode: Dispatcher.SendMode) async {
    let (began, completions) = (Latch(), Recorder<ActionGroupResult>())
    let handle = dispatcher.dispatch(
      ActionGroup {
        ActionStep(Script.endless(opening: began), mode: mode)
        Script.adds("skipped")
        ActionGroup(.concurrent) { Script.adds("skipped") }
      }
    ) { completions.record($0) }
    await began.opened()
    #expect(!handle.hasEnded && handle.resultIfEnded == nil)
    handle.cancel()
    let result = await handle.result
    #expect(result.outcomes == "x..")
    #expect(result.error is CancellationError)
    #expect(completions.all.map(\.outcomes) == ["x.."])
    handle.cancel()
    #expect(handle.resultIfEnded?.outcomes == "x..")
    #expect(stage.model.isEmpty)
  }

  @Test(arguments: Dispatcher.SendMode.everyMode)
  func cancelledByWhatIsReportedItStartsNothingMore(_ mode: Dispatcher.SendMode) async {
    let (known, handles) = (Latch(), Recorder<ActionGroupHandle>())
    let handle = dispatcher.dispatch(
      ActionGroup {
        ActionStep(Script.suspends { _ in await known.opened() }, mode: mode)
        ActionStep(Script.adds("skipped"), mode: mode).compensated(by: Script.adds("-"))
        Script.adds("skipped")
      },
      onProgress: { ended, _ in if ended == 1 { handles.all[0].cancel() } })
    handles.record(handle)
    known.open()
    let result = await handle.result
    #expect(result.outcomes == "+..")
    #expect(!result.isSuccess)
    #expect(stage.model.isEmpty)
  }

  @Test func cancelledDuringItsLastStepItSucceedsWhereThatFinishes() async {
    let (began, goOn) = (Latch(), Latch())
    let handle = dispatcher.dispatch(
      ActionGroup {
        ActionStep(Script.holds(opening: began, until: goOn)).compensated(by: Script.adds("-"))
        ActionGroup {}
      })
    await began.opened()
    handle.cancel()
    goOn.open()
    #expect(await handle.result.isSuccess)
    #expect(stage.model.isEmpty)
  }

  @Test func cancellingTheTaskThatAwaitsItCancelsNothing() async {
    let (began, goOn) = (Latch(), Latch())
    let handle = dispatcher.dispatch(
      ActionGroup {
        Script.suspends { _ in
          began.open()
          await goOn.opened()
          try Task.checkCancellation()
        }
        Script.adds("after")
      })
    let task = Task { await handle.result }
    await began.opened()
    task.cancel()
    goOn.open()
    #expect(await task.value.isSuccess)
    #expect(stage.model == ["after"])
  }

  @Test func aTaskThatWasCancelledBeforeItSendsAGroupRunsNothingOfIt() async {
    let dispatcher = dispatcher
    let group = ActionGroup {
      Script.adds("a")
      ActionGroup(.concurrent) { Script.adds("b") }
    }
    let result = await Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return await dispatcher.send(group)
    }.value
    #expect(result.outcomes == "..")
    #expect(result.error is CancellationError)
    #expect(stage.model.isEmpty)
  }

  @Test func aListOfActionsInASentGroupIsCancelledWithTheTask() async {
    let (dispatcher, began) = (dispatcher, Latch())
    let group = ActionGroup {
      ActionStep([Script.endless(opening: began), Script.adds("skipped")])
    }
    let task = Task { await dispatcher.send(group) }
    await began.opened()
    task.cancel()
    #expect(await task.value.outcomes == "x")
    #expect(stage.model.isEmpty)
  }

  @Test(arguments: Dispatcher.SendMode.everyMode, [false, true])
  func aDetachedStepThatIsSentOutlivesTheCancellationOfItsTask(
    _ mode: Dispatcher.SendMode, _ isList: Bool
  ) async {
    let (dispatcher, began, goOn) = (dispatcher, Latch(), Latch())
    let script = Script.suspends { stage in
      began.open()
      await goOn.opened()
      try Task.checkCancellation()
      stage.updateModel { $0.append("a") }
    }
    let group = ActionGroup {
      isList
        ? ActionStep([script], mode: mode, options: .detached)
        : ActionStep(script, mode: mode, options: .detached)
      Script.adds("skipped")
    }
    let task = Task { await dispatcher.send(group) }
    await began.opened()
    task.cancel()
    goOn.open()
    #expect(await task.value.outcomes == "+.")
    #expect(stage.model == ["a"])
  }

  @Test func closuresAreCalledOnceAtTheEndAfterTheCompletion() async {
    let (log, goOn) = (Recorder<String>(), Latch())
    let handle = dispatcher.dispatch(
      ActionGroup { Script.suspends { _ in await goOn.opened() } }
    ) { _ in log.record("completion") }
    handle.whenEnded { log.record("first \($0)") }
    goOn.open()
    _ = await log.first(2)
    _ = await handle.ended()
    handle.whenEnded { log.record("later \($0)") }
    #expect(log.all == ["completion", "first finished", "later finished"])
    await #expect(throws: Never.self) { try await handle.get() }
  }

  @Test(arguments: GroupForm.allCases)
  func progressIsReportedOnceForEachStepInOrder(_ form: GroupForm) async {
    let counts = Recorder<[Int]>()
    let group = ActionGroup(.concurrent) {
      for index in 0..<40 {
        ActionGroup {
          ActionStep(Script.adds("a"), mode: .serial(lane: index))
          Script.suspends { _ in await Task.yield() }
        }
      }
    }
    let result = await form.run(group, by: dispatcher) { counts.record([$0, $1]) }
    #expect(result.isSuccess)
    #expect(counts.all == (1...80).map { [$0, 80] })
  }

  @Test(arguments: GroupForm.InMode.all)
  func whatAReportDispatchesIsNotRefusedByACloseNorCancelledWithTheGroup(
    _ form: GroupForm.InMode
  ) async {
    let (dispatcher, began, ends) = (dispatcher, Latch(), Recorder<Bool>())
    let group = ActionGroup { ActionStep(Script.endless(opening: began), mode: form.mode) }
    let running = Task {
      await form.form.run(group, by: dispatcher, options: .named("order")) { _, _ in
        dispatcher.dispatch(Script.adds("report")) { ends.record($0.isSuccess) }
      }
    }
    await began.opened()
    dispatcher.close()
    #expect(dispatcher.cancel(named: "order") == 1)
    #expect(await running.value.outcomes == "x")
    #expect(await ends.first(1) == [true])
    #expect(stage.model == ["report"])
  }

  @Test(arguments: Dispatcher.SendMode.laneModes)
  func awaitingItInTheLaneThatAStepNeedsIsRefused(_ mode: Dispatcher.SendMode) async {
    let (dispatcher, handles) = (dispatcher, Recorder<ActionGroupHandle>())
    let results = Recorder<ActionGroupResult>()
    let outer = dispatcher.dispatch(
      action: Script.suspends { _ in
        let handle = dispatcher.dispatch(
          ActionGroup {
            Script.suspends { _ in await Task.yield() }
            Script.adds("before")
            ActionStep(Script.adds("in the lane"), mode: mode)
            Script.adds("after")
          })
        handles.record(handle)
        results.record(await handle.result)
      }, mode: mode.mode)
    #expect(await outer.result.isSuccess)
    let error = results.all.first?.error as? DispatchError
    #expect(error?.code == .wouldDeadlock)
    // The group itself goes on once the lane is there.
    #expect(await handles.all[0].result.isSuccess)
    #expect(stage.model == ["before", "in the lane", "after"])
  }

  @Test(.timeLimit(.minutes(1)), arguments: Dispatcher.SendMode.laneModes, [false, true])
  func awaitingItByItsNameInTheLaneThatAStepNeedsEnds(
    _ mode: Dispatcher.SendMode, isFirstStep: Bool
  ) async {
    let (dispatcher, codes) = (dispatcher, Recorder<DispatchError.Code?>())
    let outer = dispatcher.dispatch(
      action: Script.suspends { _ in
        dispatcher.dispatch(
          ActionGroup {
            if !isFirstStep { Script.suspends { _ in await Task.yield() } }
            ActionStep(Script.adds("in the lane"), mode: mode)
          }, options: .named("group"))
        codes.record(await dispatcher.dispatches(named: "group")[0].result.errorCode)
      }, mode: mode.mode)
    #expect(await outer.result.isSuccess)
    #expect(codes.all == [.wouldDeadlock])
    await dispatcher.drain()
  }

  @Test(arguments: GroupForm.InMode.all)
  func theHandleOfItsNameSaysWhetherAStepHasStarted(_ form: GroupForm.InMode) async {
    let (dispatcher, began, free) = (dispatcher, Latch(), Latch())
    let group = ActionGroup {
      ActionStep(Script.holds(opening: began, until: free), mode: form.mode)
      ActionStep(Script.runs { _ in throw StageFright() }, mode: form.mode)
      Script.adds("skipped")
    }
    let running = Task { await form.run(group, by: dispatcher, options: .named("order")) }
    await began.opened()
    let handle = dispatcher.dispatches(named: "order")[0]
    free.open()
    let result = await handle.result
    #expect(result.error is StageFright && result.hasStarted)
    #expect(result.steps.map(\.isSuccess) == [true, false] && result.skippedActionCount == 1)
    #expect(await !running.value.isSuccess)
  }

  /// The step would be behind a dispatch that keeps its place until the group has ended.
  @Test(.timeLimit(.minutes(1)), arguments: GroupForm.allCases)
  func aStepBehindADispatchThatIsAfterItsGroupIsRefused(_ form: GroupForm) async {
    let (dispatcher, began, goOn) = (dispatcher, Latch(), Latch())
    let group = ActionGroup {
      ActionStep(Script.holds(opening: began, until: goOn)).compensated(by: Script.adds("undone"))
      ActionStep(Script.adds("in the lane"), mode: .serial(lane: "a"))
    }
    let running = Task { await form.runHere(group, by: dispatcher, options: .named("group")) }
    await began.opened()
    let later = dispatcher.dispatch(
      action: Script.adds("later"), mode: .serial(lane: "a"),
      options: .after(dispatcher.dispatches(named: "group")))
    goOn.open()
    let result = await running.value
    #expect(result.errorCode == .wouldDeadlock)
    #expect(await later.result.isSuccess)
    #expect(stage.model == ["undone", "later"])
  }

  @Test(.timeLimit(.minutes(1)), arguments: Dispatcher.SendMode.laneModes)
  func itsCompletionMayNotWaitForTheLaneOfTheBlockThatAwaitsIt(
    _ mode: Dispatcher.SendMode
  ) async {
    let (dispatcher, codes) = (dispatcher, Recorder<DispatchError.Code?>())
    let outer = dispatcher.dispatch(
      action: Script.suspends { _ in
        let handle = dispatcher.dispatch(
          ActionGroup { Script.suspends { _ in await Task.yield() } },
          then: { _ in
            let inLane = dispatcher.dispatch(action: Script.adds("in the lane"), mode: mode.mode)
            codes.record(inLane.wait().errorCode)
          })
        codes.record(await handle.result.errorCode)
      }, mode: mode.mode)
    #expect(await outer.result.isSuccess)
    // The wait that comes second is refused.
    #expect(await codes.first(2).filter { $0 == .wouldDeadlock }.count == 1)
    await dispatcher.drain()
    #expect(stage.model == ["in the lane"])
  }

  @Test(.timeLimit(.minutes(1)), arguments: Dispatcher.SendMode.everyMode)
  func itsCompletionMayNotWaitForTheBlockThatAwaitsIt(_ mode: Dispatcher.SendMode) async {
    let (dispatcher, codes) = (dispatcher, Recorder<DispatchError.Code?>())
    let (outers, isKnown) = (Recorder<DispatchHandle>(), Latch())
    let outer = dispatcher.dispatch(
      action: Script.suspends { _ in
        await isKnown.opened()
        let handle = dispatcher.dispatch(
          ActionGroup { Script.suspends { _ in await Task.yield() } },
          then: { _ in codes.record(outers.all[0].wait().errorCode) })
        codes.record(await handle.result.errorCode)
      }, mode: mode.mode)
    outers.record(outer)
    isKnown.open()
    #expect(await outer.result.isSuccess)
    // The wait that comes second is refused.
    #expect(await codes.first(2).filter { $0 == .wouldDeadlock }.count == 1)
    await dispatcher.drain()
  }

  @Test(arguments: Dispatcher.SendMode.laneModes)
  func aWaitOfACompletionWithinTheCallHoldsUpTheBlockAround(_ mode: Dispatcher.SendMode) async {
    let (dispatcher, codes) = (dispatcher, Recorder<DispatchError.Code?>())
    let outer = dispatcher.dispatch(
      action: Script.suspends { _ in
        let behind = dispatcher.dispatch(action: Script.adds("behind"), mode: mode.mode)
        // An empty group ends within the call.
        dispatcher.dispatch(ActionGroup {}) { _ in
          let waits = dispatcher.dispatch(
            action: Script.adds("waits"), mode: .sync, options: .after(behind))
          codes.record(waits.resultIfEnded?.dispatchError?.code)
        }
      }, mode: mode.mode)
    #expect(await outer.result.isSuccess)
    #expect(codes.all == [.wouldDeadlock])
    await dispatcher.dispatch(action: Script.adds("later"), mode: mode.mode).ended()
    #expect(stage.model == ["behind", "later"])
  }

  @Test(arguments: Dispatcher.SendMode.laneModes, [DispatchOptions(), .detached])
  func sentInTheLaneThatAStepNeedsTheStepIsRefused(
    _ mode: Dispatcher.SendMode, options: DispatchOptions
  ) async {
    let (dispatcher, results) = (dispatcher, Recorder<ActionGroupResult>())
    let outer = dispatcher.dispatch(
      action: Script.suspends { _ in
        results.record(
          await dispatcher.send(
            ActionGroup {
              ActionStep(Script.adds("before"))
                .compensated(by: Script.adds("-before"))
              ActionStep(Script.adds("before"))
                .compensated(by: Script.adds("refused"), mode: mode)
              ActionStep(Script.adds("in the lane"), mode: mode)
            }, options: options))
      }, mode: mode.mode)
    #expect(await outer.result.isSuccess)
    #expect(results.all.map(\.outcomes) == ["++-"])
    let result = results.all[0]
    #expect(result.errorCode == .wouldDeadlock)
    let refused = result.compensated.first?.compensation?.error as? DispatchError
    #expect(refused?.code == .wouldDeadlock)
    #expect(result.compensated.last?.compensation?.isSuccess == true)
    // What was refused does not run later either.
    await dispatcher.dispatch(action: Script.adds("later"), mode: mode.mode).ended()
    #expect(stage.model == ["before", "before", "-before", "later"])
  }

  @Test func awaitedInABlockThatHoldsNothingItNeedsItEnds() async {
    let (dispatcher, results) = (dispatcher, Recorder<ActionGroupResult>())
    let group = ActionGroup {
      ActionGroup(.concurrent) {
        for lane in 0..<20 {
          ActionStep(Script.suspends { _ in await Task.yield() }, mode: .serial(lane: lane))
        }
      }
      Script.adds("after")
    }
    let outer = dispatcher.dispatch(
      action: Script.suspends { _ in
        results.record(await dispatcher.dispatch(group).result)
      }, mode: .serial)
    #expect(await outer.result.isSuccess)
    #expect(results.all.map(\.isSuccess) == [true])
  }

  @Test func aDispatcherThatIsDroppedLivesUntilItsGroupHasEnded() async {
    let (log, goOn) = (Recorder<String>(), Latch())
    func begin() -> ActionGroupHandle {
      let (dispatcher, _) = makeStage()
      return dispatcher.dispatch(
        ActionGroup {
          Script.suspends { _ in await goOn.opened() }
          Script.runs { _ in log.record("second") }
        })
    }
    let handle = begin()
    goOn.open()
    #expect(await handle.result.isSuccess)
    #expect(log.all == ["second"])
  }

  @Test(.timeLimit(.minutes(1)))
  func aKeptHandleKeepsNothingOfAGroupThatHasEnded() async {
    let released = (0..<3).map { _ in Latch() }
    func begin() -> ActionGroupHandle {
      let (dispatcher, _) = makeStage()
      let signals = released.map(Mortal.init)
      dispatcher.onWarning { [signal = signals[0]] _ in withExtendedLifetime(signal) {} }
      return dispatcher.dispatch(
        ActionGroup { Script.suspends { _ in await Task.yield() } },
        then: { [signal = signals[1]] _ in withExtendedLifetime(signal) {} },
        onProgress: { [signal = signals[2]] _, _ in withExtendedLifetime(signal) {} })
    }
    let handle = begin()
    #expect(await handle.result.isSuccess)
    for latch in released { await latch.opened() }
    #expect(handle.hasEnded)
  }

  @Test func aGroupsHandleEqualsThatOfNoOtherDispatch() async {
    let (dispatcher, goOn, counts) = (dispatcher, Latch(), Recorder<Int>())
    let outer = dispatcher.dispatch(
      action: Script.suspends { _ in
        for _ in 0..<2 {
          dispatcher.dispatch(
            ActionGroup { Script.suspends { _ in await goOn.opened() } }, options: .named("all"))
        }
        counts.record(Set(dispatcher.dispatches(named: "all")).count)
        goOn.open()
      }, options: .named("all"))
    #expect(await outer.result.isSuccess)
    #expect(counts.all == [3])
    await dispatcher.drain()
  }

  @Test(arguments: Dispatcher.SendMode.everyMode)
  func dispatchedInAnExclusiveSectionItBeginsWhenThatIsLeft(_ mode: Dispatcher.SendMode) async {
    let (dispatcher, other) = (dispatcher, ProbeStore.probe("other"))
    let models = Recorder<Int>()
    let group = ActionGroup {
      ActionStep(mode: mode) { _ in
        models.record(other.model)
        return Script.adds("a")
      }
      ActionStep(Script.adds("b"), mode: mode)
    }
    let handle = await onOwnThread {
      other.updateModel { model in
        model = 7
        let empty = dispatcher.dispatch(ActionGroup {}) { _ in models.record(other.model) }
        #expect(!empty.hasEnded)
        return dispatcher.dispatch(group)
      }
    }
    #expect(await handle.result.isSuccess)
    #expect(models.all == [7, 7])
    #expect(stage.model == ["a", "b"])
  }

  @Test(arguments: [Dispatcher.SendMode.async, .serial])
  func aSuspendedQueueHoldsItsNextStepBack(_ mode: Dispatcher.SendMode) async {
    let (began, goOn) = (Latch(), Latch())
    let handle = dispatcher.dispatch(
      ActionGroup {
        ActionStep(Script.holds(opening: began, until: goOn), mode: mode)
        ActionStep(Script.adds("second"), mode: mode)
      })
    await began.opened()
    dispatcher.queue.isSuspended = true
    goOn.open()
    handle.cancel()
    // The second step may have been dispatched already: it waits.
    #expect(await ["+.", "+x"].contains(handle.result.outcomes))
    dispatcher.queue.isSuspended = false
    #expect(stage.model.isEmpty)
  }
}
