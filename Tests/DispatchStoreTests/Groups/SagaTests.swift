import DispatchStore
import Testing

/// Steps that are undone where a later one does not finish.
@Suite("Sagas", .timeLimit(.minutes(10)))
struct SagaTests {
  let dispatcher = Dispatcher()
  let stage: Stage

  init() {
    stage = dispatcher.addStage()
  }

  private func step(_ name: String, in mode: Dispatcher.Mode = .async) -> ActionStep {
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
    dispatcher.register(
      middleware: RecordingMiddleware(will: { _, action, _ in
        "\(action)" == "vetoed" ? .veto(reason: "no") : .pass
      }))
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

  @Test(arguments: Dispatcher.Mode.everyMode.filter { $0 != .sync })
  func aGroupThatIsCancelledUndoesWhatFinishedAndIsNotCancelledInThat(
    _ mode: Dispatcher.Mode
  ) async {
    let (began, undoing, goOn) = (Latch(), Latch(), Latch())
    let undo = Script.suspends { store in
      undoing.open()
      await goOn.opened()
      try Task.checkCancellation()
      store.updateModel { $0.append("-a") }
    }
    let handle = dispatcher.dispatch(
      ActionGroup {
        ActionStep(Script.adds("a"), mode: mode).compensated(by: undo)
        ActionStep(
          Script.suspends { _ in
            began.open()
            try await Task.sleep(for: .seconds(3_600))
          }, mode: mode)
        step("skipped", in: mode)
      })
    await began.opened()
    handle.cancel()
    await undoing.opened()
    handle.cancel()
    goOn.open()
    let result = await handle.result
    #expect(result.outcomes == "+x.")
    #expect(result.error is CancellationError)
    #expect(result.compensated.map { $0.compensation?.isSuccess } == [true])
    #expect(stage.model == ["a", "-a"])
  }

  @Test(arguments: Dispatcher.Mode.everyMode.filter { $0 != .sync })
  func aTaskThatIsCancelledDoesSoToo(_ mode: Dispatcher.Mode) async {
    let (dispatcher, began) = (dispatcher, Latch())
    let undo = Script.suspends { store in
      await Task.yield()
      try Task.checkCancellation()
      store.updateModel { $0.append("-a") }
    }
    let group = ActionGroup {
      ActionStep(Script.adds("a"), mode: mode).compensated(by: undo)
      ActionGroup(.concurrent) {
        ActionStep(
          Script.suspends { _ in
            began.open()
            try await Task.sleep(for: .seconds(3_600))
          }, mode: mode)
      }
      step("skipped", in: mode)
    }
    let task = Task { await dispatcher.send(group) }
    await began.opened()
    task.cancel()
    let result = await task.value
    #expect(result.outcomes == "+x.")
    #expect(result.compensated.map { $0.compensation?.isSuccess } == [true])
    #expect(stage.model == ["a", "-a"])
  }
}
