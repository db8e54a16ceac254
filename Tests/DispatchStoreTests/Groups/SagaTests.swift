import DispatchStore
import DispatchStoreTesting
import Testing

/// Steps that are undone where a later one does not finish.
@Suite("Sagas", .timeLimit(.minutes(10)))
struct SagaTests {
  var (clock, dispatcher, stage) = makeClockedStage()

  private func step(_ name: String, in mode: Dispatcher.SendMode = .async) -> ActionStep {
    ActionStep(Script.adds(name), mode: mode).compensated(by: Script.adds("-\(name)"))
  }

  private let failure = Script.runs { _ in throw StageFright() }

  @Test(arguments: GroupForm.InMode.all)
  func aFailureUndoesWhatFinishedInReverseEachOnce(_ form: GroupForm.InMode) async {
    let result = await form.run(
      ActionGroup {
        step("a", in: form.mode)
        ActionGroup {
          step("b", in: form.mode)
          ActionStep(Script.adds("c"), mode: form.mode)
        }
        step("d", in: form.mode)
        ActionStep(failure, mode: form.mode).compensated(by: Script.adds("-failure"))
        step("skipped", in: form.mode)
      }, by: dispatcher)
    #expect(stage.model == ["a", "b", "c", "d", "-d", "-b", "-a"])
    #expect(result.outcomes == "++++-.")
    #expect(result.error is StageFright)
    #expect(result.compensated.count == 3)
    let ran = result.steps.map { $0.compensation?.isSuccess }
    #expect(ran == [true, true, nil, true, nil, nil])
  }

  @Test(arguments: GroupForm.allCases)
  func soDoesAVetoAndAStepThatWasCancelled(_ form: GroupForm) async {
    dispatcher.register(middleware: RecordingMiddleware.vetoing("vetoed"))
    for last in [Script.adds("vetoed"), .runs { _ in throw CancellationError() }] {
      let result = await form.run(
        ActionGroup {
          step("a")
          last
        }, by: dispatcher)
      #expect(result.compensated.count == 1)
    }
    #expect(stage.model == ["a", "-a", "a", "-a"])
  }

  @Test(arguments: GroupForm.allCases)
  func aSuccessUndoesNothing(_ form: GroupForm) async {
    let result = await form.run(ActionGroup { step("a") }, by: dispatcher)
    #expect(result.isSuccess && result.compensated.isEmpty)
    #expect(stage.model == ["a"])
  }

  @Test(arguments: GroupForm.allCases)
  func concurrentStepsAreUndoneInReverseOfTheirEnds(_ form: GroupForm) async {
    let ends = (0..<4).map { _ in Latch() }
    ends[0].open()
    /// A step that is the so-and-so-many-th to end.
    func step(_ name: String, place: Int) -> ActionStep {
      ActionStep(Script.suspends { _ in await ends[place - 1].opened() })
        .compensated(by: Script.adds("-\(name)"))
    }
    let result = await form.run(
      ActionGroup {
        ActionGroup(.concurrent) {
          step("a", place: 2)
          step("b", place: 3)
          step("c", place: 1)
        }
        failure
      }, by: dispatcher
    ) { count, _ in
      if count < ends.count { ends[count].open() }
    }
    #expect(result.outcomes == "+++-")
    #expect(stage.model == ["-b", "-a", "-c"])
    #expect(result.compensated.count == 3)
  }

  @Test(arguments: GroupForm.allCases)
  func theCompensationIsMadeFromTheStepsResult(_ form: GroupForm) async {
    let stores = Recorder<[String]>()
    let result = await form.run(
      ActionGroup {
        ActionStep(Script.adds("a")).compensated { result in
          stores.record(result.stores.map(\.storeIdentifier))
          return Script.adds("-a")
        }
        ActionStep(Script.adds("b")).compensated { _ in nil }
        failure
      }, by: dispatcher)
    #expect(stores.all == [["stage"]])
    #expect(stage.model == ["a", "b", "-a"])
    #expect(result.steps.map { $0.compensation?.result == nil } == [false, true, true])
    #expect(result.compensated.map { $0.compensation?.isSuccess } == [true, true])
  }

  @Test(arguments: GroupForm.InMode.all)
  func aCompensationThatFailsDoesNotStopTheOthers(_ form: GroupForm.InMode) async {
    let result = await form.run(
      ActionGroup {
        step("a", in: form.mode)
        ActionStep(Script.adds("b"), mode: form.mode).compensated(by: failure)
        ActionStep(Script.adds("c"), mode: form.mode).compensated { _ in throw StageFright() }
        step("d", in: form.mode)
        ActionStep(Script.runs { _ in throw PingFailure() }, mode: form.mode)
      }, by: dispatcher)
    #expect(stage.model == ["a", "b", "c", "d", "-d", "-a"])
    #expect(result.error is PingFailure)
    let errors = result.compensated.map { $0.compensation?.error is StageFright }
    #expect(errors == [false, true, true, false])
  }

  @Test(arguments: GroupForm.allCases)
  func oneThatContinuesKeepsWhatFinishedUnlessTheGroupAroundItStops(_ form: GroupForm) async {
    let group = ActionGroup(.concurrent) {
      ActionGroup {
        step("a", in: .serial)
        ActionStep(failure, mode: .serial)
      }
      ActionGroup { step("b", in: .serial(lane: 1)) }
    }.continuingOnFailure()
    let kept = await form.run(group, by: dispatcher)
    #expect(kept.outcomes == "+-+")
    #expect(kept.elements.map(\.isSuccess) == [false, true])
    #expect(stage.model.filter { $0.hasPrefix("-") } == ["-a"])
    let undone = await form.run(ActionGroup { group }, by: dispatcher)
    #expect(undone.compensated.count == 2)
    #expect(stage.model.filter { $0.hasPrefix("-") }.sorted() == ["-a", "-a", "-b"])
  }

  /// By its handle, or with the task that sends it.
  @Test(arguments: GroupForm.InMode.all)
  func aGroupThatIsCancelledUndoesWhatFinishedAndIsNotCancelledInThat(
    _ form: GroupForm.InMode
  ) async {
    let (dispatcher, began, undoing, goOn) = (dispatcher, Latch(), Latch(), Latch())
    let undo = Script.suspends { store in
      undoing.open()
      await goOn.opened()
      try Task.checkCancellation()
      store.updateModel { $0.append("-a") }
    }
    let group = ActionGroup {
      ActionStep(Script.adds("a"), mode: form.mode).compensated(by: undo)
      ActionGroup(.concurrent) {
        ActionStep(Script.endless(opening: began), mode: form.mode)
      }
      step("skipped", in: form.mode)
    }
    let handle = form.form == .dispatched ? dispatcher.dispatch(group) : nil
    let task = Task { () async -> ActionGroupResult in
      if let handle { return await handle.result }
      return await dispatcher.send(group)
    }
    await began.opened()
    if let handle { handle.cancel() } else { task.cancel() }
    await undoing.opened()
    if let handle { handle.cancel() } else { task.cancel() }
    goOn.open()
    let result = await task.value
    #expect(result.outcomes == "+x.")
    #expect(result.error is CancellationError)
    #expect(result.compensated.map { $0.compensation?.isSuccess } == [true])
    #expect(stage.model == ["a", "-a"])
  }

  // MARK: Compensations always run

  @Test(.timeLimit(.minutes(1)), arguments: GroupForm.InMode.all, [false, true])
  func aDispatchThatIsCancelledOrTimesOutStopsItsBlocksGroupWhichIsUndone(
    _ form: GroupForm.InMode, timesOut: Bool
  ) async {
    let (dispatcher, began, results) = (dispatcher, Latch(), Recorder<ActionGroupResult>())
    dispatcher.addStage("outer")
    let group = ActionGroup {
      step("a", in: form.mode)
      ActionStep(Script.endless(opening: began), mode: form.mode)
      step("skipped", in: form.mode)
    }
    let handle = dispatcher.dispatch(
      storeIdentifier: "outer",
      action: Script.suspends("outer") { _ in
        results.record(await form.form.runHere(group, by: dispatcher))
      }, options: timesOut ? .timeout(.seconds(1)) : [])
    await began.opened()
    if timesOut { await clock.pass(.seconds(1)) } else { handle.cancel() }
    let result = await results.first(1)[0]
    #expect(!result.isSuccess && result.steps.last?.outcome.isSkipped == true)
    #expect(timesOut || result.outcomes == "+x.")
    #expect(result.compensated.map { $0.compensation?.isSuccess } == [true])
    #expect(stage.model == ["a", "-a"])
  }

  @Test(.timeLimit(.minutes(1)), arguments: GroupForm.InMode.all)
  func aDrainWaitsForAGroupAndForWhatUndoesIt(_ form: GroupForm.InMode) async {
    let (dispatcher, began, goOn) = (dispatcher, Latch(), Latch())
    let group = ActionGroup {
      ActionStep(
        Script.suspends { stage in
          began.open()
          await goOn.opened()
          stage.updateModel { $0.append("a") }
        }, mode: form.mode
      ).compensated(by: Script.adds("-a"))
      step("b", in: form.mode)
      ActionStep(failure, mode: form.mode)
    }
    let run = Task { await form.run(group, by: dispatcher) }
    await began.opened()
    dispatcher.close()
    let drain = Task { await dispatcher.drain() }
    goOn.open()
    #expect(await drain.value.isComplete)
    #expect(stage.model == ["a", "b", "-b", "-a"])
    let result = await run.value
    #expect(result.outcomes == "++-")
    #expect(result.compensated.map { $0.compensation?.isSuccess } == [true, true])
  }

  @Test(.timeLimit(.minutes(1)), arguments: GroupForm.InMode.all)
  func afterAShutdownNoneStartsAndTheReportNamesTheSteps(_ form: GroupForm.InMode) async {
    let (dispatcher, began, goOn) = (dispatcher, Latch(), Latch())
    let warnings = Recorder<DispatchWarning.Kind>()
    dispatcher.onWarning { warnings.record($0.kind) }
    let group = ActionGroup {
      step("a", in: form.mode)
      ActionStep(
        Script.suspends { _ in
          began.open()
          await goOn.opened()
          throw StageFright()
        }, mode: form.mode)
    }
    let run = Task { await form.run(group, by: dispatcher) }
    await began.opened()
    dispatcher.shutDown()
    let drain = Task { await dispatcher.drain() }
    goOn.open()
    let (report, result) = (await drain.value, await run.value)
    #expect(report.isComplete)
    #expect(report.uncompensated.map(\.steps.count) == [1])
    #expect(
      report.uncompensated.map { "\($0.steps[0].callSite)" } == ["\(result.steps[0].callSite)"])
    #expect("\(report)".contains("Not undone: group at"))
    #expect(warnings.all == [.notCompensated])
    #expect(stage.model == ["a"])
    #expect(result.compensated.map { $0.compensation?.isSuccess } == [false])
  }

  @Test(arguments: GroupForm.InMode.all)
  func aStepThatOnlyBeganIsUndoneIfItSaysSo(_ form: GroupForm.InMode) async {
    func fails(_ name: String, ifOnlyBegun: Bool) -> ActionGroup {
      ActionGroup {
        step("a", in: form.mode)
        ActionStep(
          Script.runs { stage in
            stage.updateModel { $0.append(name) }
            throw StageFright()
          }, mode: form.mode
        ).compensated(by: Script.adds("-\(name)"), ifOnlyBegun: ifOnlyBegun)
      }
    }
    #expect(await form.run(fails("b", ifOnlyBegun: false), by: dispatcher).compensated.count == 1)
    #expect(await form.run(fails("c", ifOnlyBegun: true), by: dispatcher).compensated.count == 2)
    #expect(stage.model == ["a", "b", "-a", "a", "c", "-c", "-a"])
    dispatcher.register(middleware: RecordingMiddleware.vetoing("vetoed"))
    let vetoed = ActionGroup {
      ActionStep(Script.adds("vetoed"), mode: form.mode)
        .compensated(by: Script.adds("-vetoed"), ifOnlyBegun: true)
    }
    #expect(await form.run(vetoed, by: dispatcher).compensated.isEmpty)
  }

  private struct Pay: ActionType {}

  /// The reason why a step has no effect, although an outcome says that it failed.
  enum Obstacle: CaseIterable { case throwingHook, atomicVeto, atomicFailure }

  @Test(arguments: GroupForm.InMode.all, Obstacle.allCases)
  func aStepThatHasNoEffectIsNotUndone(_ form: GroupForm.InMode, _ obstacle: Obstacle) async {
    for name in ["a", "b"] {
      dispatcher.register(
        store: Store(identifier: name, model: 0) {
          On(Pay.self) { paid, _ in
            if obstacle == .atomicFailure, name == "b" { throw StageFright() }
            paid += 1
          }
        })
    }
    dispatcher.register(
      middleware: RecordingMiddleware(will: { _, _, store in
        switch obstacle {
        case .throwingHook: throw StageFright()
        case .atomicVeto where store.identifier == "b": return .veto(reason: "no")
        default: return .pass
        }
      }))
    let group = ActionGroup {
      ActionStep(
        Pay(), mode: form.mode, options: obstacle == .throwingHook ? [] : .atomic
      ).compensated(by: Pay(), ifOnlyBegun: true)
    }
    let result = await form.run(group, by: dispatcher)
    #expect(!result.isSuccess && result.compensated.isEmpty)
  }

  @Test(arguments: GroupForm.InMode.all)
  func aStepThatBeganInAnEarlierAttemptIsUndone(_ form: GroupForm.InMode) async {
    let attempts = Recorder<Int>()
    dispatcher.register(
      middleware: RecordingMiddleware(will: { _, action, _ in
        guard "\(action)" == "charge" else { return .pass }
        attempts.record(1)
        return attempts.all.count == 1 ? .pass : .veto(reason: "no")
      }))
    let charge = Script.runs("charge") { stage in
      stage.updateModel { $0.append("charge") }
      throw StageFright()
    }
    let group = ActionGroup {
      ActionStep(charge, mode: form.mode, options: .retry(attempts: 2))
        .compensated(by: Script.adds("-charge"), ifOnlyBegun: true)
    }
    #expect(await form.run(group, by: dispatcher).compensated.count == 1)
    #expect(stage.model == ["charge", "-charge"])
  }

  /// An action that changes its store once its deadline has cancelled it.
  private func late(after began: Latch) -> Script {
    Script.suspends { stage in
      began.open()
      try? await Task.sleep(for: .seconds(3_600))
      stage.updateModel { $0.append("late") }
    }
  }

  /// A compensation of a step whose time has passed comes after the step's block.
  @Test(
    .timeLimit(.minutes(1)), arguments: GroupForm.InMode.all,
    [(true, 1), (false, 1), (true, 2), (false, 2)])
  func aStepThatHasTimedOutIsUndoneOnceItsBlockHasEnded(
    _ form: GroupForm.InMode, _ limited: (isStep: Bool, actionCount: Int)
  ) async {
    let isLimitOfStep = limited.isStep
    let limit = DispatchOptions.timeout(.seconds(1))
    let (dispatcher, began) = (dispatcher, Latch())
    let late = late(after: began)
    let options = isLimitOfStep ? limit : []
    // A list has begun, too, if its first action has.
    let step =
      limited.actionCount == 1
      ? ActionStep(late, mode: form.mode, options: options)
      : ActionStep([late, Script.adds("never")], mode: form.mode, options: options)
    let group = ActionGroup { step.compensated(by: Script.adds("-late"), ifOnlyBegun: true) }
    let task = Task {
      await form.run(group, by: dispatcher, options: isLimitOfStep ? .named("saga") : limit)
    }
    await began.opened()
    await clock.pass(.seconds(1))
    let result = await task.value
    #expect(result.errorCode == .timedOut)
    #expect(stage.model == ["late", "-late"])
  }

  @Test(.timeLimit(.minutes(1)), arguments: Dispatcher.SendMode.everyMode)
  func aDetachedStepThatHasTimedOutIsUndoneOnceItsBlockHasEnded(
    _ mode: Dispatcher.SendMode
  ) async {
    let (dispatcher, began) = (dispatcher, Latch())
    let late = late(after: began)
    let group = ActionGroup {
      ActionStep(late, mode: mode, options: [.timeout(.seconds(1)), .detached])
        .compensated(by: Script.adds("-late"), ifOnlyBegun: true)
    }
    let task = Task { await dispatcher.send(group, options: .limited(by: DispatchLimit(1))) }
    await began.opened()
    await clock.pass(.seconds(1))
    _ = await task.value
    #expect(stage.model == ["late", "-late"])
  }

  @Test(.timeLimit(.minutes(1)), arguments: GroupForm.InMode.all)
  func aCompensationFollowsTheBlockOfOneThatHasTimedOut(_ form: GroupForm.InMode) async {
    let (dispatcher, began, isCancelled, free) = (dispatcher, Latch(), Latch(), Latch())
    let late = Script.suspends { stage in
      began.open()
      await isCancelled.openedOrCancelled()
      await free.opened()
      stage.updateModel { $0.append("late") }
    }
    let group = ActionGroup {
      ActionStep(Script.adds("a")).compensated(by: Script.adds("-a"))
      ActionStep(Script.adds("b"), mode: form.mode)
        .compensated(by: late, options: .timeout(.seconds(1)))
      failure
    }
    let task = Task { await form.run(group, by: dispatcher) }
    await began.opened()
    await clock.pass(.seconds(1))
    await isCancelled.opened()
    // Comes after the end of the compensation, if that does not wait for its block.
    for _ in 0..<20 { await dispatcher.dispatch(action: Script.runs { _ in }).ended() }
    free.open()
    let result = await task.value
    #expect(stage.model == ["a", "b", "late", "-a"])
    let errors = result.compensated.map { $0.compensation?.error as? DispatchError }
    #expect(errors.map { $0?.code } == [.timedOut, nil])
  }

  @Test(arguments: GroupForm.InMode.all)
  func aCompensationHasOptionsOfItsOwn(_ form: GroupForm.InMode) async {
    let attempts = Recorder<Int>()
    let undo = Script.failsOnce(noting: attempts)
    let result = await form.run(
      ActionGroup {
        ActionStep(Script.adds("a"), mode: form.mode)
          .compensated(by: undo, options: .retry(attempts: 2))
        ActionStep(failure, mode: form.mode)
      }, by: dispatcher)
    #expect(result.compensated.map { $0.compensation?.isSuccess } == [true])
    #expect(attempts.all.count == 2)
  }

  @Test(arguments: GroupForm.allCases)
  func aCompensationThatFailsIsReported(_ form: GroupForm) async {
    let warnings = Recorder<DispatchWarning>()
    dispatcher.onWarning { warnings.record($0) }
    let result = await form.run(
      ActionGroup {
        step("a")
        ActionStep(Script.adds("b")).compensated(by: failure)
        failure
      }, by: dispatcher)
    #expect(warnings.all.map(\.kind) == [.notCompensated])
    let message = warnings.all.first?.message ?? ""
    #expect(message.contains("\(result.steps[1].callSite)") && message.contains("StageFright"))
    #expect(!message.contains("\(result.steps[0].callSite)"))
  }

  @Test(arguments: GroupForm.allCases)
  func aCompensationThatAnotherDispatcherRefusesHasFailed(_ form: GroupForm) async {
    let (bank, warnings) = (Dispatcher(name: "bank"), Recorder<DispatchWarning>())
    bank.addStage()
    bank.close()
    dispatcher.onWarning { warnings.record($0) }
    let result = await form.run(
      ActionGroup {
        ActionStep(Script.adds("a")).compensated(
          by: Script.suspends { _ in
            _ = try await bank.dispatch(action: Script.adds("refund")).get()
          })
        ActionStep(Script.adds("b")).compensated { _ in
          let refused = bank.dispatch(action: Script.adds("refund"), mode: .sync)
          if let error = refused.resultIfEnded?.error { throw error }
          return nil
        }
        failure
      }, by: dispatcher)
    #expect(result.compensated.map { $0.compensation?.isSuccess } == [false, false])
    #expect(warnings.all.map(\.kind) == [.notCompensated])
    #expect(warnings.all.first?.message.contains("their compensations failed") == true)
    #expect(await dispatcher.drain().uncompensated.isEmpty)
  }

  @Test(
    .timeLimit(.minutes(1)), arguments: GroupForm.allCases, DispatchLimit.Overflow.allCases)
  func aCompensationTakesNoUnitOfTheDispatchersBounds(
    _ form: GroupForm, _ overflow: DispatchLimit.Overflow
  ) async {
    let bound = DispatchLimit(1, overflow: overflow)
    let dispatcher = Dispatcher(limits: DispatchLimits(queue: bound))
    let (stage, free) = (dispatcher.addStage(), Latch())
    let blocker = Script.suspends { _ in await free.opened() }
    let result = await form.run(
      ActionGroup {
        step("a")
        ActionStep(
          Script.runs { _ in
            dispatcher.dispatch(action: blocker, options: .detached)
            throw StageFright()
          }, mode: .serial)
      }, by: dispatcher)
    #expect(bound.statistics.inFlight == 1)
    #expect(result.compensated.map { $0.compensation?.isSuccess } == [true])
    #expect(stage.model == ["a", "-a"])
    free.open()
  }

  @Test(.timeLimit(.minutes(1)))
  func aCompensationThatIsSentWaitsForItsLimit() async {
    let (dispatcher, limit) = (dispatcher, DispatchLimit(1, overflow: .wait))
    let (began, free, ended) = (Latch(), Latch(), Latch())
    let holder = dispatcher.dispatch(
      action: Script.holds(opening: began, until: free), options: .limited(by: limit))
    await began.opened()
    let group = ActionGroup {
      ActionStep(Script.adds("a"))
        .compensated(by: Script.adds("-a"), options: .limited(by: limit))
      failure
    }
    let task = Task {
      defer { ended.open() }
      return await dispatcher.send(group)
    }
    while limit.statistics.waiting == 0, !ended.isOpen { await Task.yield() }
    task.cancel()
    free.open()
    #expect(await task.value.compensated.map { $0.compensation?.isSuccess } == [true])
    #expect(stage.model == ["a", "-a"])
    await holder.ended()
  }

  // MARK: The options of a group

  @Test(.timeLimit(.minutes(1)), arguments: GroupForm.InMode.all, [false, true])
  func aGroupHasATimeLimit(_ form: GroupForm.InMode, isStepDetached: Bool) async {
    let (dispatcher, began) = (dispatcher, Latch())
    let group = ActionGroup {
      step("a", in: form.mode)
      ActionStep(
        Script.endless(opening: began), mode: form.mode, options: isStepDetached ? .detached : [])
      step("skipped", in: form.mode)
    }
    let task = Task { await form.run(group, by: dispatcher, options: .timeout(.seconds(1))) }
    await began.opened()
    await clock.pass(.seconds(1))
    let result = await task.value
    #expect(result.errorCode == .timedOut)
    #expect(result.outcomes == "+-.")
    #expect(stage.model == ["a", "-a"])
    let late = await form.run(group, by: dispatcher, options: .timeout(.zero))
    #expect(late.outcomes == "...")
    #expect(late.errorCode == .timedOut)
  }

  /// Cancelled by its name, or else by its handle or the task that sends it.
  @Test(.timeLimit(.minutes(1)), arguments: GroupForm.InMode.all, [false, true])
  func aTimeLimitThatPassesWhileACancelledGroupIsUndoneIsNotItsError(
    _ form: GroupForm.InMode, isByName: Bool
  ) async {
    let (dispatcher, began, free) = (dispatcher, Latch(), Latch())
    let (undoes, isOver) = (Latch(), Latch())
    let group = ActionGroup {
      ActionStep(Script.holds(opening: began, until: free), mode: form.mode)
        .compensated(by: Script.holds(opening: undoes, until: isOver))
      step("skipped", in: form.mode)
    }
    let running = await begin(group, form.form, [.timeout(.seconds(1)), .named("order")])
    await began.opened()
    // Times out after the group.
    let last = dispatcher.dispatch(
      action: Script.endless(opening: Latch()), options: .timeout(.seconds(2)))
    running.cancel(isByName ? "order" : nil, by: dispatcher)
    free.open()
    await undoes.opened()
    clock.advance(by: .seconds(2))
    await last.ended()
    isOver.open()
    let result = await running.task.value
    #expect(result.error is CancellationError)
    #expect(result.outcomes == "+.")
    #expect(result.compensated.map { $0.compensation?.isSuccess } == [true])
  }

  /// It times out, or throws an error of its own.
  @Test(.timeLimit(.minutes(1)), arguments: GroupForm.InMode.all, [false, true])
  func howACancelledStepEndsIsNotTheErrorOfItsGroup(
    _ form: GroupForm.InMode, timesOut: Bool
  ) async {
    for name in [nil, "order"] {
      let (began, free) = (Latch(), Latch())
      let group = ActionGroup {
        ActionStep(
          Script.suspends { _ in
            began.open()
            await free.opened()
            throw StageFright()
          }, mode: form.mode)
        step("skipped", in: form.mode)
      }
      let limit = DispatchOptions.timeout(.seconds(1))
      // Without a name, the steps of a group that is sent are sent, too.
      let running = await begin(group, form.form, name == nil ? limit : [limit, .named("order")])
      await began.opened()
      running.cancel(name, by: dispatcher)
      if timesOut { clock.advance(by: .seconds(1)) }
      free.open()
      let result = await running.task.value
      #expect(result.error is CancellationError)
      #expect(result.steps.map(\.outcome.isFinished) == [false, false])
    }
    #expect(stage.model.isEmpty)
  }

  /// A group that a task sends, or awaits by its handle.
  private struct Running {
    let task: Task<ActionGroupResult, Never>
    let handle: ActionGroupHandle?

    /// Cancels it by its name, or else by its handle or the task that sends it.
    func cancel(_ name: String?, by dispatcher: Dispatcher) {
      if let name {
        #expect(dispatcher.cancel(named: name) == 1)
      } else {
        task.cancel()
        handle?.cancel()
      }
    }
  }

  private func begin(
    _ group: ActionGroup, _ form: GroupForm, _ options: DispatchOptions
  ) async -> Running {
    let dispatcher = dispatcher
    var handle: ActionGroupHandle?
    if form == .dispatched {
      handle = await onOwnThread { dispatcher.dispatch(group, options: options) }
    }
    let task = Task { [handle] () async -> ActionGroupResult in
      if let handle { return await handle.result }
      return await dispatcher.send(group, options: options)
    }
    return Running(task: task, handle: handle)
  }

  @Test(.timeLimit(.minutes(1)), arguments: GroupForm.InMode.all, [false, true])
  func aGroupIsFoundAndCancelledByItsName(_ form: GroupForm.InMode, isStepDetached: Bool) async {
    let (dispatcher, began) = (dispatcher, Latch())
    let group = ActionGroup {
      step("a", in: form.mode)
      ActionStep(
        Script.endless(opening: began), mode: form.mode, options: isStepDetached ? .detached : [])
      step("skipped", in: form.mode)
    }
    let task = Task { await form.run(group, by: dispatcher, options: .named("order")) }
    await began.opened()
    #expect(dispatcher.cancel(named: "order") == 1)
    let result = await task.value
    #expect(result.outcomes == "+x.")
    #expect(result.error is CancellationError)
    #expect(stage.model == ["a", "-a"])
    #expect(dispatcher.dispatches(named: "order").isEmpty)
  }

  /// The code of a dispatch that dispatches a group and goes on.
  enum Place: CaseIterable { case handler, section, block, completion }

  private func begin(
    _ group: ActionGroup, in place: Place, of dispatcher: Dispatcher, _ options: DispatchOptions
  ) async -> ActionGroupHandle {
    let handles = Recorder<ActionGroupHandle>()
    let begin: @Sendable () -> Void = {
      handles.record(dispatcher.dispatch(group, options: options))
    }
    dispatcher.addDesk()
    switch place {
    case .handler:
      dispatcher.dispatch(action: Errand { _ in begin() })
    case .section:
      dispatcher.dispatch(action: Errand { desk in desk.updateModel { _ in begin() } })
    case .block:
      dispatcher.addStage("outer")
      dispatcher.dispatch(storeIdentifier: "outer", action: Script.suspends { _ in begin() })
    case .completion:
      dispatcher.dispatch(action: Errand.adds("x")) { begin() }
    }
    return await handles.first(1)[0]
  }

  @Test(.timeLimit(.minutes(1)), arguments: Place.allCases, Dispatcher.SendMode.everyMode)
  func aTimeLimitAndANameEndTheFirstStepOfAGroupThatADispatchHasDispatched(
    _ place: Place, _ mode: Dispatcher.SendMode
  ) async {
    for timesOut in [true, false] {
      let (clock, began) = (VirtualClock(), Latch())
      let (dispatcher, _) = makeStage(Dispatcher(clock: clock))
      let group = ActionGroup {
        ActionStep(Script.endless(opening: began), to: "stage", mode: mode)
        step("skipped", in: mode)
      }
      let options: DispatchOptions = timesOut ? .timeout(.seconds(1)) : .named("order")
      let handle = await begin(group, in: place, of: dispatcher, options)
      await began.opened()
      if timesOut {
        await clock.pass(.seconds(1))
      } else {
        #expect(dispatcher.cancel(named: "order") == 1)
      }
      let result = await handle.result
      #expect(result.outcomes == (timesOut ? "-." : "x."))
      #expect(result.errorCode == (timesOut ? .timedOut : nil))
      #expect((result.error is CancellationError) == !timesOut)
    }
  }

  /// As one that cleans up.
  @Test(.timeLimit(.minutes(1)), arguments: GroupForm.InMode.all)
  func aDetachedGroupRunsInABlockThatIsCancelled(_ form: GroupForm.InMode) async {
    let (dispatcher, began) = (dispatcher, Latch())
    let results = Recorder<ActionGroupResult>()
    dispatcher.addStage("outer")
    let group = ActionGroup {
      ActionStep(Script.adds("a"), to: "stage", mode: form.mode)
      ActionGroup(.concurrent) {
        ActionStep(Script.adds("b"), to: "stage", mode: form.mode)
      }
    }
    let outer = dispatcher.dispatch(
      storeIdentifier: "outer",
      action: Script.suspends { _ in
        do {
          began.open()
          try await Task.sleep(for: .seconds(3_600))
        } catch {
          results.record(await form.form.runHere(group, by: dispatcher, options: .detached))
        }
      })
    await began.opened()
    outer.cancel()
    #expect(await results.first(1)[0].outcomes == "++")
    #expect(stage.model == ["a", "b"])
    await outer.ended()
  }

  @Test(.timeLimit(.minutes(1)), arguments: Dispatcher.SendMode.everyMode)
  func aFailureInADetachedGroupOfACancelledTaskCancelsWhatRunsBesideIt(
    _ mode: Dispatcher.SendMode
  ) async {
    let (dispatcher, began) = (dispatcher, Latch())
    let fails = Script.suspends { _ in
      await began.opened()
      throw StageFright()
    }
    let group = ActionGroup {
      step("a", in: mode)
      ActionGroup(.concurrent) {
        ActionStep(Script.endless(opening: began), mode: .serial(lane: "endless"))
        ActionStep(fails, mode: mode)
      }
    }
    let result = await Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return await dispatcher.send(group, options: .detached)
    }.value
    #expect(result.outcomes == "+x-")
    #expect(result.error is StageFright)
    #expect(stage.model == ["a", "-a"])
  }

  /// On a thread of the program's own, which would block for it.
  @Test(.timeLimit(.minutes(1)), arguments: GroupForm.InMode.all)
  func aStepThatNeedsTheUnitOfItsGroupIsRefused(_ form: GroupForm.InMode) async {
    let limit = DispatchLimit(1, overflow: .wait)
    let group = ActionGroup {
      ActionStep(Script.adds("a"), mode: form.mode, options: .limited(by: limit))
    }
    let result = await form.run(group, by: dispatcher, options: .limited(by: limit))
    #expect(result.errorCode == .wouldDeadlock)
    #expect(stage.model.isEmpty)
    #expect(limit.statistics.inFlight == 0)
  }

  @Test(
    .timeLimit(.minutes(1)), arguments: GroupForm.InMode.all, [DispatchOptions(), .named("group")])
  func whatAStepSendsIsRefusedTheUnitOfItsGroup(
    _ form: GroupForm.InMode, _ options: DispatchOptions
  ) async {
    let (dispatcher, limit) = (dispatcher, DispatchLimit(1, overflow: .wait))
    let codes = Recorder<DispatchError.Code?>()
    dispatcher.addStage("inner")
    let sends = Script.suspends { _ in
      let result = await dispatcher.send(
        Script.adds("x"), to: "inner", mode: .serial(lane: "inner"), options: .limited(by: limit))
      codes.record(result.errorCode)
    }
    let group = ActionGroup {
      ActionStep(sends, to: "stage", mode: form.mode)
        .compensated(by: sends, to: "stage", mode: form.mode)
      ActionStep(failure, to: "stage", mode: form.mode)
    }
    let result = await form.run(group, by: dispatcher, options: [.limited(by: limit), options])
    #expect(result.outcomes == "+-")
    #expect(codes.all == [.wouldDeadlock, .wouldDeadlock])
    #expect(limit.statistics.inFlight == 0)
  }

  @Test(.timeLimit(.minutes(1)), arguments: GroupForm.allCases)
  func aGroupCountsInItsLimitUntilItHasEnded(_ form: GroupForm) async {
    let (dispatcher, limit, stage) = (dispatcher, DispatchLimit(1), stage)
    let (began, goOn) = (Latch(), Latch())
    let first = ActionGroup {
      Script.holds(opening: began, until: goOn)
    }
    let task = Task { await form.run(first, by: dispatcher, options: .limited(by: limit)) }
    await began.opened()
    let other = ActionGroup { step("other") }
    let refused = await form.run(other, by: dispatcher, options: .limited(by: limit))
    #expect(refused.outcomes == "." && stage.model.isEmpty)
    #expect(refused.errorCode == .limitExceeded)
    goOn.open()
    #expect(await task.value.isSuccess)
    #expect(await form.run(other, by: dispatcher, options: .limited(by: limit)).isSuccess)
    #expect(limit.statistics.inFlight == 0)
  }
}
