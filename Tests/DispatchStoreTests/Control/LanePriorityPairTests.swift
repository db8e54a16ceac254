import DispatchStoreTesting
import Foundation
import Testing

@testable import DispatchStore

/// Lanes with priorities, with what else controls dispatches.
@Suite("Lanes with priorities: pairs", .timeLimit(.minutes(10)))
struct LanePriorityPairTests {
  let it = GateStage()
  let free = Latch()

  private var order: [String] { it.log.all.filter { !$0.contains("holder") } }

  @Test(arguments: Dispatcher.Mode.laneModes)
  func prioritiesAndRetryTheLaneIsHeldInThePause(_ mode: Dispatcher.Mode) async {
    let (it, attempts) = (it, EventCount(of: 2))
    it.dispatcher.usePriorities(in: mode)
    let retried = it.run(
      .runs { _ in
        it.log.record("attempt")
        if attempts.add() == 1 { throw StageFright() }
      }, mode,
      [.priority(.low), .retry(attempts: 2, backoff: .constant(.seconds(1)))])
    await it.clock.waitForSleepers(atLeast: 1)
    let high = it.run(it.notes("high"), mode, .priority(.veryHigh))
    it.clock.advance(by: .seconds(1))
    for task in [retried, high] { #expect(await task.value.isSuccess) }
    #expect(order == ["attempt", "attempt", "high"])
  }

  @Test(arguments: Dispatcher.Mode.laneModes)
  func prioritiesAndSequenceNoneComesBetweenItsActions(_ mode: Dispatcher.Mode) async {
    let (it, tasks) = (it, Recorder<Task<DispatchResult, Never>>())
    let holder = await it.holdPrioritized(mode, until: free)
    let low = it.run(it.notes("low"), mode, .priority(.low))
    let first = Script.runs { _ in
      it.log.record("first")
      tasks.record(it.run(it.notes("high"), mode, .priority(.veryHigh)))
    }
    let sequence = it.dispatcher.dispatch(
      actions: [first, it.notes("second")], mode: mode, options: .priority(.high))
    free.open()
    for task in [holder, low] { #expect(await task.value.isSuccess) }
    #expect(await sequence.result.isSuccess)
    for task in tasks.all { #expect(await task.value.isSuccess) }
    #expect(order == ["first", "second", "high", "low"])
  }

  @Test(arguments: Dispatcher.Mode.laneModes, [false, true])
  func prioritiesAndLatestTheNewestRunsWhateverItsPriority(
    _ mode: Dispatcher.Mode, sends: Bool
  ) async {
    let holder = await it.holdPrioritized(mode, until: free)
    let high = it.run(
      it.notes("high"), mode, [.priority(.high), .cancelsPrevious("k")], sends: sends)
    let low = it.run(
      it.notes("low"), mode, [.priority(.low), .cancelsPrevious("k")], sends: sends)
    free.open()
    #expect(await high.value.isSuccess == false)
    for task in [holder, low] { #expect(await task.value.isSuccess) }
    #expect(order == ["low"])
  }

  @Test(arguments: Dispatcher.Mode.laneModes)
  func prioritiesAndLimitTheOldestIsDroppedWhateverItsPriority(_ mode: Dispatcher.Mode) async {
    let (limit, holder) = (
      DispatchLimit(2, overflow: .dropOldest), await it.holdPrioritized(mode, until: free)
    )
    let tasks = [Operation.QueuePriority.veryHigh, .low, .high].map {
      it.run(it.notes("\($0.rawValue)"), mode, [.priority($0), .limited(by: limit)])
    }
    #expect(await tasks[0].value.errorCode == .dropped)
    free.open()
    for task in tasks.dropFirst() + [holder] { #expect(await task.value.isSuccess) }
    #expect(order == ["4", "-4"] && limit.statistics.inFlight == 0)
  }

  @Test(arguments: Dispatcher.Mode.laneModes, [false, true])
  func prioritiesAndTimeLimitOneThatIsPassedOverTimesOut(
    _ mode: Dispatcher.Mode, sends: Bool
  ) async {
    let holder = await it.holdPrioritized(mode, until: free)
    let low = it.run(
      it.notes("low"), mode, [.priority(.low), .timeout(.seconds(1))], sends: sends)
    let high = it.run(it.notes("high"), mode, .priority(.high), sends: sends)
    await it.clock.pass(.seconds(1))
    #expect(await low.value.errorCode == .timedOut)
    free.open()
    for task in [holder, high] { #expect(await task.value.isSuccess) }
    #expect(order == ["high"])
  }

  @Test(arguments: Dispatcher.Mode.laneModes)
  func prioritiesAndRateOneThatIsDelayedHasItsPriorityWhenItBegins(
    _ mode: Dispatcher.Mode
  ) async {
    let holder = await it.holdPrioritized(mode, until: free)
    let delayed = it.run(
      it.notes("delayed"), mode, [.priority(.high), .debounced("k", for: .seconds(1))])
    let low = it.run(it.notes("low"), mode, .priority(.low))
    await it.clock.waitForSleepers(atLeast: 1)
    let lane = it.dispatcher.scheduler(of: mode) as! Lane
    #expect(lane.order.waiting.count == 1)
    it.clock.advance(by: .seconds(1))
    while lane.order.waiting.count == 1 { await Task.yield() }
    free.open()
    for task in [holder, low, delayed] { #expect(await task.value.isSuccess) }
    #expect(order == ["delayed", "low"])
  }

  @Test(arguments: Dispatcher.Mode.laneModes, [false, true])
  func prioritiesAndJoinTheFirstOneKeepsItsOwn(_ mode: Dispatcher.Mode, sends: Bool) async {
    let holder = await it.holdPrioritized(mode, until: free)
    let first = it.run(
      it.notes("first"), mode, [.priority(.low), .idempotencyKey("k", remembered: .zero)],
      sends: sends)
    let normal = it.run(it.notes("normal"), mode, .init(), sends: sends)
    // It joins, and has no turn of its own.
    let joins = it.run(
      it.notes("joins"), mode, [.priority(.veryHigh), .idempotencyKey("k", remembered: .zero)])
    free.open()
    for task in [holder, first, normal, joins] { #expect(await task.value.isSuccess) }
    #expect(order == ["normal", "first"])
  }

  @Test(arguments: [Dispatcher.Mode.serial, .serial(lane: "named")])
  func prioritiesAndSuspensionTheHighestGoFirstOnceItIsResumed(_ mode: Dispatcher.Mode) async {
    it.dispatcher.usePriorities(in: mode)
    it.dispatcher.queue.isSuspended = true
    let tasks = [Operation.QueuePriority.low, .normal, .high].flatMap { priority in
      [false, true].map { sends in
        it.run(it.notes("\(priority.rawValue)"), mode, .priority(priority), sends: sends)
      }
    }
    it.dispatcher.queue.isSuspended = false
    for task in tasks { #expect(await task.value.isSuccess) }
    #expect(order == ["4", "4", "0", "0", "-4", "-4"])
  }

  @Test(arguments: Dispatcher.Mode.laneModes)
  func prioritiesAndExclusionOneAtItsGateIsNotOvertaken(_ mode: Dispatcher.Mode) async {
    let (it, outside) = (it, Latch())
    it.dispatcher.usePriorities(in: mode)
    let other = await it.begin("holder", until: outside, .async, .exclusive("k"))
    let waits = it.run(it.notes("waits"), mode, [.exclusive("k"), .priority(.low)])
    let lane = it.dispatcher.scheduler(of: mode) as! Lane
    while lane.order.holder == nil { await Task.yield() }
    let high = it.run(it.notes("high"), mode, .priority(.high))
    outside.open()
    for task in [other, waits, high] { #expect(await task.value.isSuccess) }
    #expect(order == ["waits", "high"])
  }

  @Test func prioritiesAndSectionOneHasItsPriorityWhenTheSectionIsLeft() async {
    let (it, handles) = (it, Recorder<DispatchHandle>())
    let holder = await it.holdPrioritized(.serial, until: free)
    it.stage.updateModel { _ in
      for priority in [Operation.QueuePriority.low, .high] {
        handles.record(
          it.dispatcher.dispatch(
            action: it.notes("\(priority.rawValue)"), mode: .serial,
            options: .priority(priority)))
      }
    }
    free.open()
    #expect(await holder.value.isSuccess)
    for handle in handles.all { #expect(await handle.result.isSuccess) }
    #expect(order == ["4", "-4"])
  }

  @Test(arguments: Dispatcher.Mode.laneModes)
  func prioritiesAndDrainWhatIsPassedOverIsWaitedFor(_ mode: Dispatcher.Mode) async {
    let holder = await it.holdPrioritized(mode, until: free)
    let tasks = [Operation.QueuePriority.low, .high].map {
      it.run(it.notes("\($0.rawValue)"), mode, .priority($0))
    }
    let drained = Task.immediate { [it] in await it.dispatcher.drain().isComplete }
    free.open()
    #expect(await drained.value)
    for task in [holder] + tasks { #expect(await task.value.isSuccess) }
    #expect(order == ["4", "-4"])
  }
}
