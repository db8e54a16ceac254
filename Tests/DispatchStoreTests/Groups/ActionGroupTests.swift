import DispatchStore
import Foundation
import Testing

/// Groups of steps, in both forms.
@Suite("Groups", .timeLimit(.minutes(10)))
struct ActionGroupTests {
  var (dispatcher, stage) = makeStage()
  let log = Recorder<String>()

  private func fails(_ name: String = "failure") -> Script {
    .runs(name) { _ in throw StageFright() }
  }

  @Test(arguments: GroupForm.InMode.all)
  func aSequenceRunsOneStepAfterTheOther(_ form: GroupForm.InMode) async {
    let log = log
    let group = ActionGroup {
      for index in 0..<12 {
        ActionStep(
          BlockKind.allCases[index % 4].script { log.record("\(index)") }, mode: form.mode)
      }
    }
    let result = await form.run(group, by: dispatcher)
    #expect(result.isSuccess)
    #expect(result.outcomes == String(repeating: "+", count: 12))
    #expect(log.all == (0..<12).map { "\($0)" })
  }

  @Test(arguments: GroupForm.allCases)
  func theBuilderTakesActionsStepsGroupsBranchesAndLoops(_ form: GroupForm) async {
    func group(_ isLong: Bool) -> ActionGroup {
      ActionGroup {
        Script.adds("a")
        if isLong { Script.adds("b") }
        if isLong {
          ActionStep(Script.adds("c"), mode: .serial)
        } else {
          ActionStep(Script.adds("d"), to: "stage", mode: .serial)
        }
        for index in 0..<2 { Script.adds("e\(index)") }
        ActionGroup {
          ActionStep([Script.adds("f"), Script.adds("g")])
        }
      }
    }
    #expect(group(true).stepCount == 6)
    #expect(await form.run(group(true), by: dispatcher).outcomes == "++++++")
    #expect(stage.model == ["a", "b", "c", "e0", "e1", "f", "g"])
    #expect(await form.run(group(false), by: dispatcher).outcomes == "+++++")
    #expect(stage.model.dropFirst(7) == ["a", "d", "e0", "e1", "f", "g"])
  }

  @Test(arguments: GroupForm.InMode.all)
  func theFirstFailureSkipsTheRestOfASequence(_ form: GroupForm.InMode) async {
    dispatcher.register(middleware: RecordingMiddleware.vetoing("vetoed"))
    let failures: [Script] = [
      fails(), .suspends { _ in throw StageFright() }, .runs { _ in throw CancellationError() },
      .adds("vetoed"),
    ]
    for (failure, outcomes) in zip(failures, ["+-..", "+-..", "+x..", "+-.."]) {
      let group = ActionGroup {
        ActionStep(Script.adds("before"), mode: form.mode)
        ActionStep(failure, mode: form.mode, line: 7)
        ActionStep(Script.adds("after"), mode: form.mode)
        ActionGroup { Script.adds("after") }
      }
      let result = await form.run(group, by: dispatcher)
      #expect(!result.isSuccess)
      #expect(result.outcomes == outcomes)
      #expect(result.failure?.callSite.line == 7)
      #expect(result.steps.last?.result == nil)
    }
    #expect(stage.model == Array(repeating: "before", count: 4))
  }

  @Test(arguments: GroupForm.allCases)
  func aFailureInAnInnerGroupStopsTheOneAroundItToo(_ form: GroupForm) async {
    let result = await form.run(
      ActionGroup {
        ActionGroup {
          fails()
          Script.adds("skipped")
        }
        Script.adds("skipped")
      }, by: dispatcher)
    #expect(result.outcomes == "-..")
    #expect(result.elements.map(\.isSuccess) == [false, false])
    #expect(result.elements[0].elements.map { $0.error is StageFright } == [true, true])
    #expect(throws: StageFright.self) { try result.get() }
    #expect(stage.model.isEmpty)
  }

  @Test(arguments: GroupForm.InMode.all)
  func oneThatContinuesOnFailureGathersAllResults(_ form: GroupForm.InMode) async {
    for order in [ActionGroup.Order.sequence, .concurrent] {
      let group = ActionGroup(order) {
        ActionStep(Script.adds("before"), mode: form.mode)
        ActionStep(fails(), mode: form.mode)
        ActionStep(Script.adds("after"), mode: form.mode)
      }
      let result = await form.run(group.continuingOnFailure(), by: dispatcher)
      #expect(result.outcomes == "+-+")
      #expect(result.error is StageFright)
    }
    #expect(stage.model.count == 4)
  }

  @Test(arguments: GroupForm.allCases)
  func theStepsOfAConcurrentGroupRunAtOnce(_ form: GroupForm) async {
    dispatcher.queue.maxConcurrentOperationCount = 4
    let here = EventCount(of: 3)
    let group = ActionGroup(.concurrent) {
      for index in 0..<3 {
        ActionStep(
          Script.suspends { _ in
            here.add()
            await here.full()
          }, mode: index == 2 ? .serial : .async)
      }
    }
    #expect(await form.run(group, by: dispatcher).outcomes == "+++")
  }

  @Test(arguments: GroupForm.allCases)
  func noMoreOfThemRunAtOnceThanTheLimit(_ form: GroupForm) async {
    let (running, most) = (Recorder<Int>(), EventCount(of: .max))
    let group = ActionGroup(.concurrent(limit: 3)) {
      for index in 0..<30 {
        ActionGroup {
          Script.suspends { _ in
            running.record(1)
            await Task.yield()
          }
          ActionStep(
            Script.suspends { _ in
              if running.all.reduce(0, +) > 3 { most.add() }
              await Task.yield()
              running.record(-1)
            }, mode: .serial(lane: index))
        }
      }
    }
    #expect(await form.run(group, by: dispatcher).isSuccess)
    #expect(most.count == 0)
    #expect(running.count == 60)
  }

  @Test(arguments: GroupForm.allCases)
  func aFailureCancelsWhatRunsBesideItAndNoMoreStarts(_ form: GroupForm) async {
    let began = Latch()
    let group = ActionGroup(.concurrent(limit: 2)) {
      ActionGroup {
        ActionStep(Script.endless(opening: began), mode: .serial(lane: 1))
        Script.adds("skipped")
      }
      ActionStep(
        Script.suspends { _ in
          await began.opened()
          throw StageFright()
        }, mode: .serial(lane: 2))
      Script.adds("skipped")
    }
    let result = await form.run(group, by: dispatcher)
    #expect(result.outcomes == "x.-.")
    #expect(result.error is StageFright)
    #expect(stage.model.isEmpty)
  }

  @Test(arguments: GroupForm.allCases)
  func aStepIsMadeFromTheResultsBeforeIt(_ form: GroupForm) async {
    dispatcher.register(
      store: Store<Int, Ask>(identifier: "asked", model: 0, reducer: AskReducer()))
    let counts = Recorder<Int>()
    let group = ActionGroup {
      ActionStep { results in
        counts.record(results.count)
        return Ask(number: 1)
      }
      ActionStep(mode: .serial) { results in
        counts.record(results.count)
        return Ask(number: results[0].replies(to: Ask.self)["asked"]!)
      }
      ActionGroup(.concurrent) {
        ActionStep { results in Ask(number: results[0].replies(to: Ask.self)["asked"]!) }
        ActionStep { results in Ask(number: results[0].replies(to: Ask.self)["asked"]! * 2) }
      }
      ActionStep { results in
        counts.record(results.count)
        return Script.adds("\(results.map { $0.replies(to: Ask.self)["asked"]! })")
      }
      ActionStep { _ in nil }
      ActionStep { results in
        counts.record(results.count)
        throw StageFright()
      }
      ActionStep { _ in Script.adds("skipped") }
    }
    let result = await form.run(group, by: dispatcher)
    #expect(counts.all == [0, 1, 2, 0])
    #expect(result.outcomes == "++++++-.")
    #expect(result.error is StageFright)
    #expect(result.steps[5].result == nil)
    #expect(stage.model == ["[40, 80]"])
  }

  @Test(arguments: GroupForm.allCases)
  func anEmptyGroupSucceedsAtOnce(_ form: GroupForm) async {
    let result = await form.run(
      ActionGroup(.concurrent) { ActionGroup {} }, by: dispatcher)
    #expect(result.isSuccess)
    #expect(result.steps.isEmpty)
  }

  @Test(arguments: GroupForm.InMode.all, [ActionGroup.Order.sequence, .concurrent])
  func aHundredThousandStepsRunInABoundedStack(
    _ form: GroupForm.InMode, _ order: ActionGroup.Order
  ) async {
    let counter = dispatcher.register(store: .counter("counter"))
    let total = Load.count(5_000, long: 100_000)
    let group = ActionGroup(order) {
      for _ in 0..<total { ActionStep(CounterAction.add(1), mode: form.mode) }
    }
    let result = await form.run(group, by: dispatcher)
    #expect(result.isSuccess)
    #expect(counter.model.count == total)
  }

  @Test(arguments: GroupForm.allCases)
  func eachStepIsAChildOfWhereTheGroupWasDispatched(_ form: GroupForm) async {
    let (dispatcher, parents) = (dispatcher, Recorder<DispatchID?>())
    dispatcher.register(
      middleware: RecordingMiddleware(will: { context, action, _ in
        if "\(action)" == "inner" { parents.record(context.parent) }
        return .pass
      }))
    let group = ActionGroup {
      ActionStep(Script.adds("inner"))
      ActionStep(Script.adds("inner"), mode: .serial(lane: 1))
      ActionGroup(.concurrent) {
        Script.suspends("inner") { _ in await Task.yield() }
        ActionStep(Script.adds("inner"), mode: .mainThread)
      }
    }
    let outer = dispatcher.dispatch(
      action: Script.suspends { _ in
        #expect(await form.runHere(group, by: dispatcher).isSuccess)
      }, mode: .serial)
    #expect(await outer.result.isSuccess)
    #expect(parents.all == Array(repeating: outer.dispatchID, count: 4))
    _ = await form.run(group, by: dispatcher)
    let own = Set(parents.all.suffix(4))
    #expect(own.count == 1 && own.first != nil && own.first != outer.dispatchID)
  }

  @Test(arguments: GroupForm.allCases)
  func carriedTaskLocalsAreThoseOfTheCall(_ form: GroupForm) async {
    let dispatcher = Dispatcher(carrying: [CarriedTaskLocal(GroupTrace.$name)])
    dispatcher.addStage()
    let log = log
    let group = ActionGroup {
      for index in 0..<3 {
        ActionStep(
          Script.suspends { _ in
            await Task.yield()
            log.record("\(index) \(GroupTrace.name)")
          }, mode: index == 1 ? .serial : .async)
      }
    }
    let reports = Recorder<String>()
    let report: @Sendable (Int, Int) -> Void = { ended, total in
      reports.record("\(ended) of \(total) \(GroupTrace.name)")
    }
    await GroupTrace.$name.withValue("call") {
      switch form {
      case .sent:
        _ = await dispatcher.send(group, onProgress: report)
      case .dispatched:
        let completion: @Sendable (ActionGroupResult) -> Void = { _ in
          reports.record("then \(GroupTrace.name)")
        }
        _ = await dispatcher.dispatch(group, then: completion, onProgress: report).result
      }
    }
    #expect(log.all == ["0 call", "1 call", "2 call"])
    let reported = ["1 of 3 call", "2 of 3 call", "3 of 3 call"]
    #expect(reports.all == reported + (form == .sent ? [] : ["then call"]))
  }

  @Test(arguments: GroupForm.allCases)
  func theStepsCallSitesAreWhereTheyAreWritten(_ form: GroupForm) async {
    let sites = Recorder<UInt>()
    dispatcher.register(
      middleware: RecordingMiddleware(will: { context, _, _ in
        sites.record(context.callSite.line)
        return .pass
      }))
    let line = UInt(#line)
    let group = ActionGroup {
      Script.adds("a")
      ActionStep(Script.adds("b"))
      ActionStep { _ in Script.adds("c") }
    }
    let result = await form.run(group, by: dispatcher)
    #expect(sites.all == [line + 2, line + 3, line + 4])
    #expect(result.steps.map(\.callSite.line) == sites.all)
  }
}

enum GroupTrace {
  @TaskLocal static var name = "none"
}

/// Replies ten times its number, and twice that for the second one.
private struct Ask: ActionType {
  typealias Reply = Int
  let number: Int
}

private final class AskReducer: Reducer<Int, Ask> {
  override func reduce(into model: inout Int, action: Ask) {
    reply(action.number < 10 ? action.number * 10 : action.number * 2)
  }
}
