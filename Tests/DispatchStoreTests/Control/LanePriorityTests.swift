import DispatchStoreTesting
import Foundation
import Testing

@testable import DispatchStore

@Suite("Lanes with priorities", .timeLimit(.minutes(10)))
struct LanePriorityTests {
  /// In which what is sent begins on its own thread.
  static let forms = [
    (Dispatcher.Mode.serial, false), (.serial, true), (.mainThread, false),
    (.serial(lane: "named"), false), (.serial(lane: "named"), true),
  ]

  let it = GateStage()
  let free = Latch()

  /// Runs one after the other, behind one that holds the lane until all of them wait there.
  private func runBehindHolder(
    _ mode: Dispatcher.Mode, sends: Bool,
    _ dispatches: [(name: String, priority: Operation.QueuePriority?)]
  ) async {
    let free = Latch()
    let holder = await it.begin("holder", until: free, mode, .init())
    var tasks = [holder]
    for (name, priority) in dispatches {
      let options = priority.map { .priority($0) } ?? DispatchOptions()
      tasks.append(it.run(it.notes(name), mode, options, sends: sends))
    }
    free.open()
    for task in tasks { #expect(await task.value.isSuccess) }
  }

  private var order: [String] { Array(it.log.all.dropFirst(2)) }

  @Test(arguments: Dispatcher.Mode.laneModes, [false, true])
  func theHighestGoFirstAndEqualOnesInTheirOrder(_ mode: Dispatcher.Mode, sends: Bool) async {
    it.dispatcher.usePriorities(in: mode)
    await runBehindHolder(
      mode, sends: sends,
      [
        ("low 1", .low), ("normal 1", nil), ("veryLow", .veryLow), ("high 1", .high),
        ("low 2", .low), ("normal 2", .normal), ("high 2", .high), ("veryHigh", .veryHigh),
      ])
    #expect(
      order == [
        "veryHigh", "high 1", "high 2", "normal 1", "normal 2", "low 1", "low 2", "veryLow",
      ])
  }

  @Test(arguments: Dispatcher.Mode.laneModes, [false, true])
  func noneIsPassedOverMoreThanSixteenTimesInARow(_ mode: Dispatcher.Mode, sends: Bool) async {
    it.dispatcher.usePriorities(in: mode)
    let low = (0..<3).map { _ in ("low", Operation.QueuePriority?.some(.low)) }
    let high = (0..<60).map { _ in ("high", Operation.QueuePriority?.some(.high)) }
    await runBehindHolder(mode, sends: sends, low + high)
    let places = order.indices.filter { order[$0] == "low" }
    #expect(places == [16, 33, 50])
  }

  @Test(arguments: Dispatcher.Mode.laneModes, [false, true])
  func whereALaneWasNotMadeSoTheyHaveNoEffect(_ mode: Dispatcher.Mode, sends: Bool) async {
    for other in Dispatcher.Mode.laneModes where other != mode {
      it.dispatcher.usePriorities(in: other)
    }
    await runBehindHolder(
      mode, sends: sends, [("1", .low), ("2", nil), ("3", .veryHigh), ("4", .high)])
    #expect(order == ["1", "2", "3", "4"])
  }

  @Test(arguments: Dispatcher.Mode.laneModes)
  func undoneTheLaneIsFirstInFirstOutAgain(_ mode: Dispatcher.Mode) async {
    let holder = await it.holdPrioritized(mode, until: free)
    let options: [DispatchOptions] = [.priority(.low), .init(), .priority(.high)]
    let before = options.map { it.run(it.notes("before"), mode, $0) }
    it.dispatcher.ignorePriorities(in: mode)
    let after = options.map { it.run(it.notes("after"), mode, $0) }
    free.open()
    for task in [holder] + before + after { #expect(await task.value.isSuccess) }
    // Those from before have their turn by the priority that they had.
    #expect(order == ["before", "before", "after", "after", "after", "before"])
    await runBehindHolder(mode, sends: false, [("1", .low), ("2", .high)])
    #expect(it.log.all.suffix(2) == ["1", "2"])
  }

  /// They refuse it, or let it pass.
  @Test(arguments: Dispatcher.Mode.laneModes, [false, true])
  func aBreakerAndARejectingRateLimitHoldNoneBack(_ mode: Dispatcher.Mode, sends: Bool) async {
    let holder = await it.holdPrioritized(mode, until: free)
    let rate = RateLimit(1, per: .seconds(1))
    let dispatches: [(name: String, options: DispatchOptions)] = [
      ("normal", .init()),
      ("guarded", [.priority(.high), .guarded(by: CircuitBreaker())]),
      ("rated", [.priority(.veryHigh), .rateLimited(by: rate)]),
    ]
    var tasks = [holder]
    for (name, options) in dispatches {
      tasks.append(it.run(it.notes(name), mode, options, sends: sends))
    }
    free.open()
    for task in tasks { #expect(await task.value.isSuccess) }
    #expect(order == ["rated", "guarded", "normal"])
  }

  /// Others were taken in when it comes.
  @Test(arguments: forms)
  func oneThatIsDispatchedByTheHolderGoesFirst(_ mode: Dispatcher.Mode, sends: Bool) async {
    let (it, tasks) = (it, Recorder<Task<DispatchResult, Never>>())
    let holder = await it.holdPrioritized(mode, until: free)
    let dispatches = (1...3).map { index in
      it.run(
        .runs { _ in
          it.log.record("\(index)")
          let high = it.run(it.notes("high \(index)"), mode, .priority(.high), sends: sends)
          tasks.record(high)
        }, mode, .init())
    }
    free.open()
    for task in [holder] + dispatches + tasks.all { #expect(await task.value.isSuccess) }
    for task in tasks.all { #expect(await task.value.isSuccess) }
    #expect(order == ["1", "high 1", "2", "high 2", "3", "high 3"])
  }

  @Test func keysAreComparedByTypeAndValue() async {
    it.dispatcher.usePriorities(in: .serial(lane: 1))
    await runBehindHolder(.serial(lane: 1.0), sends: false, [("1", .low), ("2", .high)])
    #expect(order == ["1", "2"])
    await runBehindHolder(.serial(lane: 1), sends: false, [("1", .low), ("2", .high)])
    #expect(it.log.all.suffix(2) == ["2", "1"])
  }

  @Test func keysWithEqualHashesAreDistinguished() {
    let lanes = PrioritizedLanes()
    let keys = (0..<4).map { TypedKey(Twin(number: $0)) }
    for key in keys[..<3] { for _ in 0..<2 { lanes.insert(key) } }
    lanes.remove(TypedKey(Twin(number: 1)))
    #expect(keys.map(lanes.contains) == [true, false, true, false])
    #expect(lanes.contains(TypedKey(Twin(number: 2))))
  }

  @Test func aThousandLanesEachHaveTheirOwn() async {
    let (dispatcher, count) = (Dispatcher(queue: .wide(4)), Load.count(1_000))
    dispatcher.addStage()
    let logs = (0..<count).map { _ in Recorder<Int>() }
    await onOwnThreads(4) { thread in
      for lane in stride(from: thread, to: count, by: 4) where lane % 2 == 0 {
        dispatcher.usePriorities(in: .serial(lane: lane))
      }
    }
    dispatcher.queue.isSuspended = true
    let handles = (0..<count).flatMap { lane in
      [Operation.QueuePriority.low, .normal, .high].enumerated().map { index, priority in
        dispatcher.dispatch(
          action: Script.runs { [log = logs[lane]] _ in log.record(index) },
          mode: .serial(lane: lane), options: .priority(priority))
      }
    }
    dispatcher.queue.isSuspended = false
    for handle in handles { #expect(await handle.result.isSuccess) }
    for (lane, log) in logs.enumerated() {
      #expect(log.all == (lane % 2 == 0 ? [2, 1, 0] : [0, 1, 2]))
    }
  }

  /// From threads that dispatch beside each other, while the lane runs.
  @Test(arguments: forms)
  func equalOnesOfAThreadAreInItsOrder(_ mode: Dispatcher.Mode, sends: Bool) async {
    let (it, threads, count) = (it, 4, Load.count(500))
    it.dispatcher.usePriorities(in: mode)
    let (log, ended) = (Recorder<(Int, Int, Int)>(), EventCount(of: threads * count))
    await onOwnThreads(threads) { thread in
      for index in 0..<count {
        let level = [0, 8, -4][(index &* 7 &+ thread) % 3]
        let options = DispatchOptions.priority(Operation.QueuePriority(rawValue: level)!)
        let task = it.run(
          .runs { _ in log.record((thread, level, index)) }, mode, options, sends: sends)
        Task {
          _ = await task.value
          ended.add()
        }
      }
    }
    await ended.full()
    #expect(log.count == threads * count)
    for thread in 0..<threads {
      for level in [0, 8, -4] {
        let own = log.all.filter { $0.0 == thread && $0.1 == level }.map(\.2)
        #expect(own == own.sorted())
      }
    }
  }

  @Test(arguments: Dispatcher.Mode.laneModes, [false, true])
  func oneThatIsCancelledIsPassedOver(_ mode: Dispatcher.Mode, sends: Bool) async {
    let holder = await it.holdPrioritized(mode, until: free)
    let low = it.run(it.notes("low"), mode, .priority(.low), sends: sends)
    var cancelled: [Task<DispatchResult, Never>] = []
    for _ in 0..<200 {
      let options = [.priority(.high), .named("all")] as DispatchOptions
      cancelled.append(it.run(it.notes("high"), mode, options, sends: sends))
    }
    #expect(it.dispatcher.cancel(named: "all") == 200)
    for task in cancelled { #expect(await task.value.isSuccess == false) }
    let lane = it.dispatcher.scheduler(of: mode) as? Lane
    let waiting = lane?.state.withLock { $0.order(top: nil).waiting.count } ?? 0
    #expect(waiting < 150, "\(waiting) of 201 wait.")
    let normal = it.run(it.notes("normal"), mode, .init(), sends: sends)
    free.open()
    for task in [holder, low, normal] { #expect(await task.value.isSuccess) }
    #expect(order == ["normal", "low"])
  }

  /// Once nothing of another priority waits.
  @Test func aLaneIsPlainAgainAfterwards() async {
    it.dispatcher.usePriorities(in: .serial)
    await runBehindHolder(.serial, sends: false, [("1", .low), ("2", nil), ("3", .high)])
    let lane = it.dispatcher.scheduler(of: .serial) as? Lane
    #expect(lane?.state.withLock(\.hasPriorities) == false)
  }

  @Test(arguments: Dispatcher.Mode.laneModes)
  func aDiagnosisShowsTheOrderOfTheirTurns(_ mode: Dispatcher.Mode) async {
    let holder = await it.holdPrioritized(mode, until: free)
    let tasks = [.low, .high].map { it.run(it.notes("\($0)"), mode, .priority($0)) }
    let last = it.dispatcher.dispatch(
      action: it.notes("last"), mode: mode, options: .priority(.veryHigh))
    let waiting = (last.dispatch!.schedulerForWaits as! Lane).order.waiting
    #expect(waiting.count == 3 && waiting.first === last.dispatch)
    free.open()
    for task in tasks + [holder] { #expect(await task.value.isSuccess) }
    #expect(await last.result.isSuccess)
  }
}
