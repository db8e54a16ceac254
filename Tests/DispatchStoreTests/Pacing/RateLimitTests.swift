import DispatchStoreTesting
import Foundation
import Testing

@testable import DispatchStore

@Suite("Rate limits", .timeLimit(.minutes(10)))
struct RateLimitTests {
  let stage = PacingStage()
  var dispatcher: Dispatcher { stage.dispatcher }
  var clock: VirtualClock { stage.clock }
  var log: Recorder<String> { stage.log }

  private func limit(_ count: Int = 1, burst: Int? = nil) -> RateLimit {
    RateLimit(count, per: .seconds(1), burst: burst, overflow: .wait, name: "mails")
  }

  // MARK: Waiting

  @Test(arguments: Way.all)
  func theyBeginAtItsRateInTheOrderInWhichTheyCame(way: Way) async {
    let limit = limit()
    var tasks = [stage.run(stage.notes("0"), way, .rateLimited(by: limit))]
    #expect(await tasks[0].value.isSuccess)
    for index in 1..<4 {
      tasks.append(stage.run(stage.notes("\(index)"), way, .rateLimited(by: limit)))
      // In a lane, the first that waits holds it, and others wait behind it.
      let isLane = way.mode != .sync && way.mode != .async
      await limit.waiting(isLane ? 1 : index)
    }
    for index in 1..<4 {
      await limit.waiting(way.mode == .sync || way.mode == .async ? 4 - index : 1)
      #expect(log.count == index)
      await stage.clock.pass(.seconds(1))
      #expect(await log.first(index + 1).last == "\(index) at \(index)")
    }
    for task in tasks { #expect(await task.value.isSuccess) }
    #expect(limit.statistics.admitted == 4 && limit.statistics.waiting == 0)
  }

  @Test(arguments: Way.queued)
  func afterAPauseABurstBeginsAtOnce(way: Way) async {
    let limit = limit(1, burst: 3)
    for round in 0..<2 {
      for index in 0..<3 {
        let options = DispatchOptions.rateLimited(by: limit)
        #expect(await stage.run(stage.notes("\(index)"), way, options).value.isSuccess)
      }
      #expect(log.all.suffix(3) == (0..<3).map { "\($0) at \(3 * round)" })
      for _ in 0..<3 { await stage.clock.pass(.seconds(1)) }
      await limit.isFull()
    }
  }

  private static let lanes = Dispatcher.Mode.serial(lanes: ["a", "b"])

  /// It keeps its place there, in each of several lanes too.
  @Test(arguments: Way.queued.filter { $0.mode != .async } + [Way(mode: lanes, sends: false)])
  func inALaneOthersWaitBehindOneThatWaits(way: Way) async {
    let limit = limit()
    _ = await stage.run(stage.notes("0"), way, .rateLimited(by: limit)).value
    let waits = stage.run(stage.notes("1"), way, .rateLimited(by: limit))
    await limit.waiting(1)
    let other = Way(mode: .serial(lane: "b"), sends: false)
    let behind = stage.run(stage.notes("2"), way.mode == Self.lanes ? other : way, [])
    await stage.clock.pass(.seconds(1))
    #expect(await waits.value.isSuccess)
    #expect(await behind.value.isSuccess)
    #expect(log.all == ["0 at 0", "1 at 1", "2 at 1"])
  }

  @Test(arguments: Way.queued)
  func whileTheQueueIsSuspendedNoneThatNeedsItBegins(way: Way) async {
    if way.sends || way.mode == .mainThread { return }
    let limit = limit()
    let options = DispatchOptions.rateLimited(by: limit)
    _ = await stage.run(stage.notes("0"), way, options).value
    let waits = stage.run(stage.notes("1"), way, options)
    await limit.waiting(1)
    dispatcher.queue.isSuspended = true
    await stage.clock.pass(.seconds(1))
    await limit.waiting(0)
    #expect(log.count == 1)
    dispatcher.queue.isSuspended = false
    #expect(await waits.value.isSuccess)
  }

  enum Hindrance: CaseIterable { case suspendedQueue, condition }

  @Test(arguments: Hindrance.allCases)
  func thoseThatCouldNotBeginWhenTheirTokensCameBeginAtTheRateToo(hindrance: Hindrance) async {
    let limit = limit()
    let stock = dispatcher.register(
      store: Store(identifier: "stock", model: 1) { On(Ping.self) { left, _ in left = 1 - left } })
    let rate = DispatchOptions.rateLimited(by: limit)
    let options = [rate, .when(stock) { $0 > 0 }] as DispatchOptions
    var handles: [DispatchHandle] = []
    for index in 0..<5 {
      handles.append(
        dispatcher.dispatch(
          storeIdentifier: "stage", action: stage.notes("\(index)"), mode: .async,
          options: hindrance == .condition ? options : rate))
      if index == 0 { _ = await log.first(1) } else { await limit.waiting(index) }
    }
    switch hindrance {
    case .suspendedQueue: dispatcher.queue.isSuspended = true
    case .condition: await stock.send(Ping())
    }
    for left in (0..<4).reversed() {
      await stage.clock.pass(.seconds(1))
      await limit.waiting(left)
    }
    #expect(log.count == 1)
    switch hindrance {
    case .suspendedQueue: dispatcher.queue.isSuspended = false
    case .condition: await stock.send(Ping())
    }
    while log.count + limit.statistics.waiting < 5 { await Task.yield() }
    #expect(log.count == 2)
    for count in 3...5 where log.count < 5 {
      await stage.clock.pass(.seconds(1))
      _ = await log.first(count)
      await limit.waiting(5 - count)
    }
    for handle in handles { #expect(await handle.result.isSuccess) }
    #expect(log.all.map { $0.suffix(4) } == ["at 0", "at 4", "at 5", "at 6", "at 7"])
  }

  // MARK: Ends while it waits

  enum Ending: CaseIterable { case cancellation, timeout, name }

  /// In lanes of their own, so that all of them wait for tokens.
  @Test(arguments: [false, true], Ending.allCases)
  func whoeverEndsWhileItWaitsGivesItsPlaceToTheNext(sends: Bool, ending: Ending) async {
    let limit = limit()
    func run(_ name: String, _ options: DispatchOptions = []) async -> Task<DispatchResult, Never> {
      let before = limit.statistics.waiting
      let way = Way(mode: .serial(lane: name), sends: sends)
      let task = stage.run(
        stage.notes(name), way, [.rateLimited(by: limit, key: "ann"), .named(name), options])
      if name != "0" { await limit.waiting(before + 1) }
      return task
    }
    _ = await run("0").value
    let second = await run("1")
    let third = await run("2", ending == .timeout ? .timeout(.milliseconds(500)) : [])
    let fourth = await run("3")
    switch ending {
    case .cancellation where sends: third.cancel()
    case .cancellation, .name: #expect(dispatcher.cancel(named: "2") == 1)
    case .timeout:
      await clock.pass(.milliseconds(500))
    }
    let error = await third.value.error
    if ending == .timeout {
      let error = error as? DispatchError
      #expect(error?.code == .timedOut)
      #expect(
        error?.message.contains("a token of the rate limit \"mails\" for the key ann") == true)
      await clock.pass(.milliseconds(500))
    } else {
      #expect(error is CancellationError)
      await stage.clock.pass(.seconds(1))
    }
    #expect(await second.value.isSuccess)
    #expect(limit.statistics.waiting == 1)
    await stage.clock.pass(.seconds(1))
    #expect(await fourth.value.isSuccess)
    #expect(log.all == ["0 at 0", "1 at 1", "3 at 2"])
    #expect(limit.statistics.admitted == 3)
  }

  @Test func atItsTokensTimeATimeoutLosesNoToken() async {
    let limit = limit()
    let options = DispatchOptions.rateLimited(by: limit)
    _ = await dispatcher.dispatch(action: stage.notes("0"), options: options).result
    let timed = dispatcher.dispatch(
      action: stage.notes("1"), options: [options, .timeout(.seconds(1))])
    let next = dispatcher.dispatch(action: stage.notes("2"), options: options)
    await limit.waiting(2)
    await stage.clock.pass(.seconds(1))
    // At its deadline it may have begun, and so used the token.
    let isUsed = await timed.result.isSuccess || limit.statistics.admitted == 2
    if isUsed { stage.clock.advance(by: .seconds(1)) }
    #expect(await next.result.isSuccess)
  }

  @Test(arguments: Way.queued)
  func aDispatcherThatClosesLetsThoseGoOnThatWait(way: Way) async {
    for end in 0..<3 {
      let stage = PacingStage()
      let (limit, options) = (
        limit(), DispatchOptions.rateLimited(by: RateLimit(9, per: .seconds(1)))
      )
      _ = await stage.run(stage.notes("0"), way, .rateLimited(by: limit)).value
      let waits = stage.run(stage.notes("1"), way, [.rateLimited(by: limit), options])
      await limit.waiting(1)
      switch end {
      case 0: stage.dispatcher.close()
      case 1: stage.dispatcher.shutDown()
      default: break
      }
      async let drain = stage.dispatcher.drain()
      await stage.clock.pass(.seconds(1))
      #expect(await drain.isComplete)
      #expect(await waits.value.isSuccess)
      #expect(stage.log.all == ["0 at 0", "1 at 1"])
    }
  }

  @Test func aDrainThatEndsEarlyNamesWhatWaits() async {
    dispatcher.tracksInFlight = true
    let limit = limit()
    let options = DispatchOptions.rateLimited(by: limit)
    _ = await dispatcher.dispatch(action: stage.notes("0"), options: options).result
    let waits = dispatcher.dispatch(action: stage.notes("1"), options: options)
    let report = await dispatcher.drain(timeout: .zero)
    #expect(!report.isComplete && report.unfinished?.count == 1)
    await stage.clock.pass(.seconds(1))
    #expect(await waits.result.isSuccess)
  }

  // MARK: Deadlocks

  /// Its thread may be needed by the clock.
  @Test func inATaskASyncDispatchThatWouldWaitIsRefused() async {
    let limit = limit()
    let options = DispatchOptions.rateLimited(by: limit)
    let first = dispatcher.dispatch(action: stage.notes("0"), mode: .sync, options: options)
    #expect(first.resultIfEnded?.isSuccess == true)
    let second = dispatcher.dispatch(action: stage.notes("1"), mode: .sync, options: options)
    #expect(second.resultIfEnded?.errorCode == .wouldDeadlock)
    #expect(second.resultIfEnded?.dispatchError?.message.contains("\"mails\"") == true)
    #expect(limit.statistics.waiting == 0)
  }

  /// Unlike a unit of a `DispatchLimit`, a token comes by itself.
  @Test(arguments: Way.queued, Way.queued)
  func insideADispatchOfItsOwnOneWaitsAndBegins(way: Way, inner: Way) async {
    let (limit, dispatcher, clock) = (limit(), dispatcher, clock)
    let isSameLane = way.mode == inner.mode && way.mode != .async
    let codes = Recorder<DispatchError.Code?>()
    let outer = stage.run(
      Script.suspends { _ in
        let options = DispatchOptions.rateLimited(by: limit)
        codes.record(await dispatcher.run(Script.adds("x"), inner, options: options).errorCode)
      }, way, .rateLimited(by: limit))
    if !isSameLane {
      await limit.waiting(1)
      await clock.pass(.seconds(1))
    }
    #expect(await codes.first(1) == [isSameLane ? .wouldDeadlock : nil])
    _ = await outer.value
  }

  // MARK: Rejecting

  @Test(arguments: Way.all)
  func aboveItsRateOneIsRejectedAtTheCall(way: Way) async {
    let limit = RateLimit(2, per: .seconds(1), name: "mails")
    let options = DispatchOptions.rateLimited(by: limit, key: "ann")
    for index in 0..<2 {
      #expect(await stage.run(stage.notes("\(index)"), way, options).value.isSuccess)
    }
    let result = await stage.run(stage.notes("2"), way, options).value
    #expect(result.errorCode == .rateLimitExceeded)
    #expect(result.dispatchError?.retryAfter == .milliseconds(500))
    #expect(result.dispatchError?.message.contains("\"mails\" for the key ann") == true)
    #expect(result.dispatchError?.callSites.count == 1)
    clock.advance(by: .milliseconds(500))
    #expect(await stage.run(stage.notes("3"), way, options).value.isSuccess)
    #expect(log.all == ["0 at 0", "1 at 0", "3 at 0"])
    #expect(limit.statistics.rejected == 1 && limit.statistics.admitted == 3)
  }

  /// Also behind one that holds its lane.
  @Test(arguments: Dispatcher.Mode.laneModes)
  func oneIsRejectedAtTheCallThoughItsLaneIsBusy(mode: Dispatcher.Mode) async {
    let (limit, free) = (RateLimit(1, per: .seconds(1)), Latch())
    let options = DispatchOptions.rateLimited(by: limit)
    let held = await stage.it.begin("held", until: free, mode, options)
    let completions = Recorder<DispatchError.Code?>()
    let rejected = dispatcher.dispatch(stage.notes("x"), mode: mode, options: options) {
      completions.record($0.errorCode)
    }
    #expect(await rejected.result.errorCode == .rateLimitExceeded)
    #expect(await completions.first(1) == [.rateLimitExceeded])
    free.open()
    #expect(await held.value.isSuccess)
  }

  enum Unbegun: CaseIterable { case cancelled, timedOut, refused }

  /// Before its completion, which dispatches the next one.
  @Test(arguments: Dispatcher.Mode.laneModes, Unbegun.allCases)
  func oneThatDoesNotBeginGivesItsTokenBackWithRejectToo(
    mode: Dispatcher.Mode, end: Unbegun
  ) async {
    let (limit, free) = (RateLimit(1, per: .seconds(600)), Latch())
    let breaker = CircuitBreaker(failures: 1, pause: .seconds(600))
    let (dispatcher, action, next) = (dispatcher, stage.notes("y"), Recorder<DispatchHandle>())
    let held = await stage.it.begin("held", until: free, mode, [])
    let waits = dispatcher.dispatch(
      stage.notes("x"), mode: mode,
      options: [.rateLimited(by: limit), .guarded(by: breaker), .timeout(.seconds(5))]
    ) { _ in
      next.record(dispatcher.dispatch(action, options: .rateLimited(by: limit)))
    }
    switch end {
    case .cancelled: waits.cancel()
    case .timedOut: clock.advance(by: .seconds(5))
    case .refused: await dispatcher.send(stage.fails(), options: .guarded(by: breaker))
    }
    if end != .refused { #expect(await !waits.result.isSuccess) }
    free.open()
    #expect(await !waits.result.isSuccess)
    #expect(await held.value.isSuccess)
    #expect(await next.first(1)[0].result.isSuccess)
    #expect(limit.statistics.admitted == 1)
  }

  @Test func oneThatIsRejectedByOneLimitTakesNoTokenOfAnother() async {
    let (wide, narrow) = (RateLimit(2, per: .seconds(1)), RateLimit(1, per: .seconds(1)))
    let both = [.rateLimited(by: wide), .rateLimited(by: narrow)] as DispatchOptions
    #expect(await dispatcher.send(stage.notes("0"), options: both).isSuccess)
    let rejected = await dispatcher.send(stage.notes("1"), options: both)
    #expect(rejected.errorCode == .rateLimitExceeded)
    #expect(await dispatcher.send(stage.notes("2"), options: .rateLimited(by: wide)).isSuccess)
    #expect(wide.statistics.admitted == 2 && wide.statistics.rejected == 0)
  }

  // MARK: Keys

  @Test func eachKeyHasItsOwnTokens() async {
    let limit = RateLimit(1, per: .seconds(1))
    let all: [DispatchOptions] = [
      .rateLimited(by: limit, key: 1), .rateLimited(by: limit, key: 1.0),
      .rateLimited(by: limit, key: "1"), .rateLimited(by: limit),
      .rateLimited(by: RateLimit(1, per: .seconds(1)), key: 1),
    ]
    for expected in [nil, DispatchError.Code.rateLimitExceeded] {
      for options in all {
        #expect(await dispatcher.send(stage.notes("x"), options: options).errorCode == expected)
      }
    }
    #expect(limit.statistics.keys == 4)
  }

  @Test func keysWithEqualHashesAreDistinguished() async {
    let limit = RateLimit(1, per: .seconds(1))
    for number in 0..<3 {
      let options = DispatchOptions.rateLimited(by: limit, key: Twin(number: number))
      #expect(await dispatcher.send(stage.notes("x"), options: options).isSuccess)
    }
    #expect(limit.statistics.keys == 3)
    clock.advance(by: .seconds(1))
    await limit.isFull()
  }

  @Test func keysThatCameAndWentLeaveNothing() async {
    let limit = RateLimit(10, per: .seconds(1))
    let held = dispatcher.dispatch(action: stage.notes("x"))
    _ = await held.result
    for key in 0..<20_000 {
      let demand = RateDemand(limit, TypedKey(key))
      _ = try? demand.enter(held.dispatch!, of: dispatcher)
      demand.begin(held.dispatch!)
    }
    #expect(limit.statistics.keys == 20_000)
    clock.advance(by: .seconds(1))
    await limit.isFull()
    await dispatcher.timersAreGone()
    #expect(limit.statistics.admitted == 20_000)
  }

  @Test func aLimitOutlivesTheDispatcherThatUsedItFirst() async {
    let (limit, clock) = (limit(), VirtualClock())
    do {
      let first = Dispatcher(clock: clock)
      first.addStage()
      #expect(await first.send(stage.notes("0"), options: .rateLimited(by: limit)).isSuccess)
    }
    let second = Dispatcher(clock: clock)
    second.addStage()
    let waits = second.dispatch(action: stage.notes("1"), options: .rateLimited(by: limit))
    await limit.waiting(1)
    await clock.pass(.seconds(1))
    #expect(await waits.result.isSuccess)
    clock.advance(by: .seconds(1))
    await limit.isFull()
  }

  // MARK: With other options

  @Test(arguments: Way.queued)
  func aSequenceAndADispatchWithRetriesCountOnce(way: Way) async {
    let limit = limit()
    let list = dispatcher.dispatch(
      actions: [stage.notes("a"), stage.notes("b")], mode: way.mode,
      options: .rateLimited(by: limit))
    #expect(await list.result.isSuccess)
    #expect(limit.statistics.admitted == 1)
    clock.advance(by: .seconds(1))
    let retried = await stage.run(
      stage.fails(), way, [.rateLimited(by: limit), .retry(attempts: 3)]
    ).value
    #expect(retried.stores[0].attemptCount == 3)
    #expect(limit.statistics.admitted == 2)
  }

  /// A group as a whole ignores it.
  @Test(arguments: GroupForm.allCases)
  func aStepOfAGroupCountsAndAGroupDoesNot(form: GroupForm) async {
    let (step, whole) = (RateLimit(9, per: .seconds(1)), RateLimit(1, per: .seconds(1)))
    let breaker = CircuitBreaker()
    let group = ActionGroup {
      ActionStep(stage.notes("a"), options: [.rateLimited(by: step), .guarded(by: breaker)])
      ActionStep(stage.notes("b"), options: .rateLimited(by: step))
    }
    for _ in 0..<2 {
      let options = [.rateLimited(by: whole), .guarded(by: breaker)] as DispatchOptions
      #expect(await form.runHere(group, by: dispatcher, options: options).isSuccess)
    }
    #expect(step.statistics.admitted == 4 && whole.statistics.admitted == 0)
    #expect(breaker.statistics.admitted == 2)
  }

  /// Not when it is made.
  @Test(arguments: RateLimit.Overflow.allCases)
  func oneThatBeginsLaterIsAskedWhenItsTimeHasCome(overflow: RateLimit.Overflow) async {
    let limit = RateLimit(1, per: .seconds(1), overflow: overflow)
    let options = DispatchOptions.rateLimited(by: limit)
    let later = dispatcher.dispatch(
      action: stage.notes("later"), options: [.delayed(by: .seconds(1)), options])
    #expect(limit.statistics.keys == 0)
    await clock.pass(.milliseconds(500))
    #expect(await dispatcher.send(stage.notes("now"), options: options).isSuccess)
    await clock.pass(.milliseconds(500))
    if overflow == .reject {
      let result = await later.result
      #expect(result.errorCode == .rateLimitExceeded)
      #expect(result.dispatchError?.retryAfter == .milliseconds(500))
      return
    }
    await limit.waiting(1)
    await stage.clock.pass(.seconds(1))
    #expect(await later.result.isSuccess)
  }

  @Test func oneThatJoinsTakesNoToken() async {
    let (limit, free) = (RateLimit(1, per: .seconds(1)), Latch())
    let options = [.rateLimited(by: limit), .idempotencyKey("order 7")] as DispatchOptions
    let first = dispatcher.dispatch(action: stage.it.holds("first", until: free), options: options)
    let joins = dispatcher.dispatch(action: stage.notes("x"), options: options)
    free.open()
    #expect(await first.result.isSuccess)
    #expect(await joins.result.isSuccess)
    #expect(await dispatcher.send(stage.notes("x"), options: options).isSuccess)
    #expect(limit.statistics.admitted == 1 && limit.statistics.rejected == 0)
  }

  @Test func aConditionIsCheckedAgainOnceItHasItsToken() async {
    let limit = limit()
    let stock = dispatcher.register(
      store: Store(identifier: "stock", model: 1) { On(Ping.self) { left, _ in left = 1 - left } })
    let options = [.rateLimited(by: limit), .when(stock) { $0 > 0 }] as DispatchOptions
    _ = await dispatcher.send(stage.notes("0"), to: "stage", options: options)
    let waits = dispatcher.dispatch(
      storeIdentifier: "stage", action: stage.notes("1"), mode: .async, options: options)
    await limit.waiting(1)
    await stock.send(Ping())
    await stage.clock.pass(.seconds(1))
    await limit.waiting(0)
    #expect(log.count == 1)
    await stock.send(Ping())
    #expect(await waits.result.isSuccess)
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func itKeepsItsExclusionKeysWhileItWaits(mode: Dispatcher.Mode) async {
    let limit = limit()
    let key = DispatchOptions.exclusive("disk")
    let first = dispatcher.dispatch(
      action: stage.notes("0"), mode: mode, options: .rateLimited(by: limit))
    #expect(await first.result.isSuccess)
    let waits = dispatcher.dispatch(
      action: stage.notes("1"), mode: mode, options: [.rateLimited(by: limit), key])
    await limit.waiting(1)
    let other = dispatcher.dispatch(
      action: stage.notes("2"), mode: .serial(lane: "other"), options: key)
    await stage.clock.pass(.seconds(1))
    #expect(await waits.result.isSuccess)
    #expect(await other.result.isSuccess)
    #expect(log.all == ["0 at 0", "1 at 1", "2 at 1"])
    // A thread may still release the record, and with it the key.
    while !stage.it.isClean { await Task.yield() }
  }

  @Test func aLimitOfThoseInFlightBoundsThoseThatWait() async {
    let (limit, bound) = (limit(), DispatchLimit(2))
    let options = [.rateLimited(by: limit), .limited(by: bound)] as DispatchOptions
    _ = await dispatcher.dispatch(action: stage.notes("0"), options: options).result
    let waits = (1...2).map { dispatcher.dispatch(action: stage.notes("\($0)"), options: options) }
    let above = dispatcher.dispatch(action: stage.notes("3"), options: options)
    #expect(await above.result.errorCode == .limitExceeded)
    await limit.waiting(2)
    for count in [2, 3] {
      await stage.clock.pass(.seconds(1))
      // The next token comes a second after this one has begun.
      _ = await log.first(count)
    }
    for handle in waits { #expect(await handle.result.isSuccess) }
  }

  /// By the system's clock.
  @Test func manyTasksBeginNoFasterThanTheRate() async {
    let limit = RateLimit(10, per: .milliseconds(10), burst: 5, overflow: .wait)
    let (dispatcher, _) = makeStage()
    let began = Recorder<ContinuousClock.Instant>()
    let start = ContinuousClock.now
    await withDiscardingTaskGroup { group in
      for index in 0..<60 {
        group.addTask {
          let result = await dispatcher.send(
            Script.runs { _ in began.record(.now) }, mode: .serial(lane: index % 7),
            options: .rateLimited(by: limit, key: index % 2))
          #expect(result.isSuccess)
        }
      }
    }
    // Of each key, 30: five at once, and 25 that each take a millisecond.
    #expect(began.count == 60)
    #expect(began.all.max()! - start >= .milliseconds(25))
    await limit.isFull()
    #expect(limit.statistics.admitted == 60 && limit.statistics.waiting == 0)
  }
}
