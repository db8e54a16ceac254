import DispatchStoreTesting
import Foundation
import Testing

@testable import DispatchStore

@Suite("What a closed dispatcher refuses", .timeLimit(.minutes(1)))
struct ClosedAtCallTests {
  /// What would hold a dispatch back that is accepted.
  enum Obstacle: CaseIterable {
    case lane, suspension, after, key, limit, condition, rate, single, leader

    func options(_ held: DispatchHandle, _ stage: Stage, _ limit: DispatchLimit) -> DispatchOptions
    {
      switch self {
      case .lane, .suspension: DispatchOptions()
      case .after: .after(held)
      case .key: .exclusive("key")
      case .limit: .limited(by: limit)
      case .condition: .when(stage) { !$0.isEmpty }
      case .rate: .debounced("key", for: .seconds(3_600))
      case .single: .skippedIfInFlight("key")
      case .leader: .idempotencyKey("key", remembered: .zero)
      }
    }
  }

  let dispatcher = Dispatcher(name: "closing")
  let started = Latch()
  let free = Latch()
  let limit = DispatchLimit(1, overflow: .wait)

  private func hold(_ mode: Dispatcher.Mode) async -> DispatchHandle {
    let (started, free) = (started, free)
    let holds = Script.suspends { _ in
      started.open()
      await free.openedOrCancelled()
      try Task.checkCancellation()
    }
    let options =
      [
        .exclusive("key"), .cancelsPrevious("key"), .skippedIfInFlight("key"),
        .idempotencyKey("key", remembered: .zero),
      ] as DispatchOptions
    let held = dispatcher.dispatch(
      action: holds, mode: mode == .sync ? .serial : mode, options: [options, .limited(by: limit)])
    await started.opened()
    return held
  }

  @Test(arguments: Dispatcher.Mode.everyMode, Obstacle.allCases)
  func isRefusedAtTheCall(_ mode: Dispatcher.Mode, _ obstacle: Obstacle) async {
    let stage = dispatcher.addStage()
    let held = await hold(mode)
    if obstacle == .suspension { dispatcher.queue.isSuspended = true }
    dispatcher.close()
    let options =
      [obstacle.options(held, stage, limit), .cancelsPrevious("key")] as DispatchOptions
    let one = dispatcher.dispatch(action: Script.adds("a"), mode: mode, options: options)
    #expect(one.resultIfEnded?.errorCode == .dispatcherClosed)
    let list = dispatcher.dispatch(
      actions: [Script.adds("b"), Script.adds("c")], mode: mode, options: options)
    #expect(list.resultIfEnded?.errorCode == .dispatcherClosed)
    if mode != .sync {
      let sent = await dispatcher.send(Script.adds("d"), mode: mode, options: options)
      #expect(sent.errorCode == .dispatcherClosed)
    }
    #expect(limit.statistics.admitted == 1)
    dispatcher.queue.isSuspended = false
    free.open()
    #expect(await held.result.isSuccess, "The accepted one goes on.")
    #expect(await dispatcher.drain().isComplete)
    #expect(stage.model.isEmpty)
  }

  @Test(arguments: GroupForm.allCases, DispatchLimit.Overflow.allCases)
  func aGroupIsRefusedBeforeALimitTakesNotice(
    _ form: GroupForm, _ overflow: DispatchLimit.Overflow
  ) async {
    let stage = dispatcher.addStage()
    let held = await hold(.serial)
    let limit = DispatchLimit(1, overflow: overflow)
    let (started, free) = (Latch(), free)
    let full = dispatcher.dispatch(
      action: Script.holds(opening: started, until: free), options: .limited(by: limit))
    await started.opened()
    dispatcher.close()
    let options = [.limited(by: limit), .cancelsPrevious("key"), .named("key")] as DispatchOptions
    let group = ActionGroup { ActionStep(Script.adds("a")) }
    let result = await form.runHere(group, by: dispatcher, options: options)
    #expect(result.errorCode == .dispatcherClosed)
    #expect(!full.hasEnded)
    let figures = limit.statistics
    #expect(figures.admitted == 1 && figures.rejected == 0 && figures.dropped == 0)
    free.open()
    #expect(await held.result.isSuccess, "The accepted one goes on.")
    #expect(await full.result.isSuccess)
    #expect(await dispatcher.drain().isComplete)
    #expect(stage.model.isEmpty)
  }

  /// Neither what makes an action is called, nor does a group succeed that has nothing to do.
  @Test(arguments: GroupForm.allCases, [false, true])
  func aGroupIsRefusedAsAWholeAlsoWithoutSteps(_ form: GroupForm, isShutDown: Bool) async {
    let (made, reports) = (Recorder<Int>(), Recorder<Int>())
    if isShutDown { dispatcher.shutDown() } else { dispatcher.close() }
    let groups = [
      ActionGroup {},
      ActionGroup(.concurrent) { ActionGroup {} },
      ActionGroup {
        ActionStep { _ in
          made.record(1)
          return nil
        }
      },
      ActionGroup { ActionStep(Script.adds("a")).compensated(by: Script.adds("-a")) },
    ]
    for group in groups {
      let result = await form.run(group, by: dispatcher) { ended, _ in reports.record(ended) }
      #expect(result.errorCode == .dispatcherClosed)
      #expect(result.outcomes.allSatisfy { $0 == "." } && result.failure == nil)
    }
    #expect(made.all.isEmpty && reports.all.isEmpty)
  }

  @Test(arguments: GroupForm.allCases)
  func aGroupWithoutStepsIsRefusedByItsOptionsToo(_ form: GroupForm) async {
    let limit = DispatchLimit(1, overflow: .reject)
    dispatcher.addStage()
    let full = dispatcher.dispatch(
      action: Script.suspends { [free] _ in await free.opened() }, options: .limited(by: limit))
    let result = await form.runHere(ActionGroup {}, by: dispatcher, options: .limited(by: limit))
    #expect(result.errorCode == .limitExceeded)
    free.open()
    #expect(await full.result.isSuccess)
  }

  @Test func aSentGroupThatWaitsForAUnitIsRefusedWhenThatComes() async {
    let (dispatcher, limit, stage) = (dispatcher, limit, dispatcher.addStage())
    let held = await hold(.serial)
    let sent = Task {
      await dispatcher.send(ActionGroup { Script.adds("a") }, options: .limited(by: limit))
    }
    while limit.statistics.waiting == 0 { await Task.yield() }
    dispatcher.close()
    free.open()
    #expect(await sent.value.errorCode == .dispatcherClosed)
    #expect(await held.result.isSuccess)
    #expect(await dispatcher.drain().isComplete)
    #expect(stage.model.isEmpty && limit.statistics.inFlight == 0)
  }
}
