import DispatchStoreTesting
import Foundation
import Testing

@testable import DispatchStore

private struct Remind: CodableAction, Equatable {
  let order: Int
  var fails = false
}

private struct CleanUp: CodableAction {}
private struct Forward: CodableAction {}
private struct Reminder: CodableAction { let text: String }
private struct Secret: ActionType {}

/// Holds its lane until something is recorded.
private struct Hold: ActionType { let end: Recorder<Int> }

/// Calls a closure when it is released.
private final class Farewell: CodableAction {
  static let hook = Locked<(@Sendable () -> Void)?>(nil)

  init() {}
  init(from decoder: any Decoder) throws {}
  deinit {
    let hook = Self.hook.withLock { $0 }
    hook?()
  }
  func encode(to encoder: any Encoder) throws { _ = encoder.container(keyedBy: Key.self) }
  private enum Key: CodingKey {}
}

private enum Meanwhile: CaseIterable { case another, repeating, cancelled }

/// Waits in a block until something is recorded.
private struct Linger: CodableAction {}

private struct SavedTime: Decodable { let due: Int64 }

private struct NobodyThere: Error {}

private struct Log: ModelType, Codable {
  var reminded: [Int] = []
  var cleaned = 0
}

/// A process that has a database open.
private struct Office {
  let dispatcher: Dispatcher
  let persistence: Persistence
  let log: Store<Log, HandledAction>
  let warnings = Recorder<DispatchWarning>()
  let lingers = Recorder<Int>()
  let mayGoOn = Recorder<Int>()

  init(
    _ database: MemoryDatabase, _ clock: VirtualClock, name: String = "office",
    actions: ActionCoder = ActionCoder(Remind.self, CleanUp.self), limits: DispatchLimits? = nil,
    saving: PersistenceLimits = .suspending(), resumes: Bool = true
  ) async throws {
    dispatcher = Dispatcher(name: name, limits: limits, clock: clock)
    let (warnings, lingers, mayGoOn) = (warnings, lingers, mayGoOn)
    dispatcher.onWarning { warnings.record($0) }
    persistence = try await database.open(for: dispatcher, actions: actions, limits: saving)
    log = try await dispatcher.register(
      store: Store(identifier: "log", model: Log()) {
        On(Remind.self) { log, remind in
          if remind.fails { throw NobodyThere() }
          log.reminded.append(remind.order)
        }
        On(CleanUp.self) { log, _ in log.cleaned += 1 }
        On(Secret.self) { _, _ in }
        Perform(Hold.self) { hold, _ in _ = await hold.end.first(1) }
        Perform(Linger.self) { _, context in
          lingers.record(1)
          _ = await mayGoOn.first(1)
          try context.updateModel { $0.cleaned += 1 }
        }
      }, persisted: .model)
    if resumes { dispatcher.resumeWork() }
  }

  func reached(_ condition: @escaping @Sendable (Log) -> Bool) async {
    for await change in log.stream(.model, initial: true, buffering: .unbounded)
    where condition(change.value) { return }
  }
}

@Suite("Saved schedules", .timeLimit(.minutes(10)))
struct SavedScheduleTests {
  private let database = MemoryDatabase()
  private let clock = VirtualClock()

  private var rows: [String: String] { database.rows(ofStore: "dispatchstore.work", part: 3) }

  @Test(arguments: [
    Dispatcher.Mode.async, .serial, .serial(lane: "a"), .serial(lane: 7), .serial(lane: UUID()),
    .mainThread,
  ])
  func runAfterARestartAtTheirTime(_ mode: Dispatcher.Mode) async throws {
    let first = try await Office(database, clock)
    first.dispatcher.dispatch(
      Remind(order: 1), mode: mode, options: .delayed(by: .seconds(10), name: "r"))
    first.dispatcher.dispatch(
      Remind(order: 2), mode: mode,
      options: .scheduled(at: clock.date.addingTimeInterval(20), name: "s"))
    #expect(first.dispatcher.scheduled.allSatisfy { $0.isSaved })
    try await first.persistence.flush()
    #expect(rows.keys.sorted() == ["office/r", "office/s"])
    database.crash()
    clock.advance(by: .seconds(5))
    let next = try await Office(database, clock)
    #expect(next.dispatcher.scheduled.map(\.name) == ["r", "s"])
    #expect(next.dispatcher.scheduled.map(\.mode) == [mode, mode])
    clock.advance(by: .seconds(4))
    #expect(next.log.model.reminded.isEmpty)
    clock.advance(by: .seconds(1))
    await next.reached { $0.reminded == [1] }
    clock.advance(by: .seconds(10))
    await next.reached { $0.reminded == [1, 2] }
    await next.dispatcher.drain()
    #expect(rows.isEmpty)
  }

  @Test(arguments: [
    DispatchOptions.delayed(by: .zero, name: "r"), .scheduled(at: .distantPast, name: "r"),
  ])
  func areSavedEvenIfTheirTimeHasCome(_ options: DispatchOptions) async throws {
    let first = try await Office(database, clock)
    let end = Recorder<Int>()
    first.dispatcher.dispatch(Hold(end: end), mode: .serial(lane: "a"))
    first.dispatcher.dispatch(Remind(order: 1), mode: .serial(lane: "a"), options: options)
    try await first.persistence.flush()
    #expect(rows.keys.sorted() == ["office/r"])
    database.crash()
    end.record(1)
    let next = try await Office(database, clock)
    await next.reached { $0.reminded == [1] }
    await next.dispatcher.drain()
    #expect(rows.isEmpty)
  }

  @Test func areMadeUpForOrSkippedAsTheCallerSays() async throws {
    try await leave { first in
      first.dispatcher.dispatch(Remind(order: 1), options: .delayed(by: .seconds(1), name: "a"))
      first.dispatcher.dispatch(
        Remind(order: 2), options: .delayed(by: .seconds(1), name: "b", missed: .skip))
      first.dispatcher.every(.seconds(10), name: "c", perform: CleanUp())
      first.dispatcher.every(.seconds(10), name: "d", perform: Remind(order: 3), missed: .skip)
    }
    clock.advance(by: .seconds(35))
    let next = try await Office(database, clock, resumes: false)
    let (cleaned, reminded) = (Recorder<Duration>(), Recorder<Duration>())
    next.dispatcher.every(.seconds(10), name: "c", perform: CleanUp()) { [clock] _ in
      cleaned.record(clock.now.offset)
    }
    next.dispatcher.every(
      .seconds(10), name: "d", perform: Remind(order: 3), missed: .skip
    ) { [clock] _ in reminded.record(clock.now.offset) }
    next.dispatcher.resumeWork()
    #expect(await cleaned.first(1) == [.seconds(35)])
    await next.reached { $0.reminded == [1] }
    clock.advance(by: .seconds(5))
    #expect(await cleaned.first(2) == [.seconds(35), .seconds(40)], "The times stay.")
    #expect(await reminded.first(1) == [.seconds(40)])
    #expect(next.log.model.reminded == [1, 3])
  }

  @Test(arguments: [true, false])
  func keepTheirTimesIfTheProgramDeclaresThemAgain(isResumedBefore: Bool) async throws {
    try await leave { $0.dispatcher.every(.seconds(100), name: "clean", perform: CleanUp()) }
    clock.advance(by: .seconds(90))
    let next = try await Office(database, clock, resumes: isResumedBefore)
    next.dispatcher.every(.seconds(100), name: "clean", perform: CleanUp())
    if !isResumedBefore { next.dispatcher.resumeWork() }
    #expect(next.dispatcher.scheduled.map(\.due) == [clock.date.addingTimeInterval(10)])
    clock.advance(by: .seconds(10))
    await next.reached { $0.cleaned == 1 }
    // Another declaration in the same process begins anew.
    clock.advance(by: .seconds(30))
    next.dispatcher.every(.seconds(100), name: "clean", perform: CleanUp())
    #expect(next.dispatcher.scheduled.map(\.due) == [clock.date.addingTimeInterval(100)])
  }

  @Test func areInTheTransactionOfTheirAction() async throws {
    for commit in 0..<4 {
      let (database, clock) = (MemoryDatabase(), VirtualClock())
      let first = try await Office(database, clock)
      first.dispatcher.dispatch(Remind(order: 1), options: .delayed(by: .seconds(1), name: "r"))
      first.dispatcher.every(.seconds(1), name: "clean", perform: CleanUp())
      try await first.persistence.flush()
      database.failAtCommit(.crash, number: commit)
      for _ in 0..<3 {
        clock.advance(by: .seconds(1))
        _ = try? await first.persistence.flush()
      }
      database.removeFaults()
      database.crash()
      let next = try await Office(database, clock)
      await next.reached { $0.reminded == [1] }
      await next.reached { $0.cleaned >= 1 }
      #expect(next.log.model.reminded == [1])
      #expect(next.log.model.cleaned <= 3)
    }
  }

  @Test func thatWereMissedSaveTheirNextTimeWithTheFirstRun() async throws {
    for _ in 0..<10 {
      let (database, clock) = (MemoryDatabase(), VirtualClock())
      let first = try await Office(database, clock)
      for name in 0..<20 {
        first.dispatcher.every(.seconds(10), name: "\(name)", perform: CleanUp())
      }
      try await first.persistence.flush()
      database.crash()
      clock.advance(by: .seconds(15))
      let next = try await Office(database, clock)
      await next.reached { $0.cleaned == 20 }
      try await next.persistence.flush()
      let now = Int64(clock.date.timeIntervalSince1970 * 1e9)
      for (key, row) in database.rows(ofStore: "dispatchstore.work", part: 3) {
        let time = try JSONDecoder().decode(SavedTime.self, from: Data(row.utf8))
        #expect(time.due > now, "\(key) has run, and is due again")
      }
    }
  }

  /// Otherwise a run that is due at a restart would not save the time of the next one.
  @Test func thatRepeatRunOnceTheirRowIsOnItsWay() async throws {
    let office = try await Office(database, clock)
    let action = RepeatedAction(
      action: CleanUp(), name: "c", storeIdentifier: nil, mode: .sync, completion: nil,
      CallSite(#fileID, #line))
    let ended = Recorder<Int>()
    action.run(by: office.dispatcher) { ended.record(1) }
    #expect(office.log.model.cleaned == 0)
    action.isArranged.set(())
    _ = await ended.first(1)
    await office.reached { $0.cleaned == 1 }
  }

  @Test func thatAreCancelledAreNotSavedByARunInFlight() async throws {
    let office = try await Office(database, clock)
    office.dispatcher.tracksInFlight = true
    let end = Recorder<Int>()
    office.dispatcher.dispatch(Hold(end: end), mode: .serial(lane: "a"))
    office.dispatcher.every(
      .seconds(1), name: "c", perform: CleanUp(), mode: .serial(lane: "a"))
    try await office.persistence.flush()
    #expect(rows.count == 1)
    clock.advance(by: .seconds(1))
    // The run waits in its lane.
    while office.dispatcher.inFlight.count < 2 { await Task.yield() }
    #expect(office.dispatcher.cancelScheduled(named: "c"))
    end.record(1)
    await office.reached { $0.cleaned == 1 }
    try await office.persistence.flush()
    #expect(rows.isEmpty)
  }

  @Test func thatAreReplacedStaySavedUntilTheNextOneIs() async throws {
    for round in 0..<40 {
      let (database, clock) = (MemoryDatabase(), VirtualClock())
      let first = try await Office(database, clock)
      first.dispatcher.dispatch(Remind(order: 1), options: .delayed(by: .seconds(1), name: "r"))
      try await first.persistence.flush()
      database.failAtCommit(.crash, number: round % 2)
      first.dispatcher.dispatch(Remind(order: 2), options: .delayed(by: .seconds(1), name: "r"))
      _ = try? await first.persistence.flush()
      database.removeFaults()
      database.crash()
      #expect(database.rows(ofStore: "dispatchstore.work", part: 3).count == 1)
    }
  }

  enum Cancellation: CaseIterable { case byName, byHandle, byDispatchName }

  @Test(arguments: Cancellation.allCases, [false, true])
  func areCancelledWithTheirRowsBeforeTheCallReturns(
    _ cancellation: Cancellation, closes: Bool
  ) async throws {
    let office = try await Office(database, clock)
    // Ends of cancelled dispatches come later.
    office.dispatcher.queue.isSuspended = true
    let handle = office.dispatcher.dispatch(
      Remind(order: 1),
      options: [.delayed(by: .seconds(1), name: "a"), .named("reminder")])
    try await office.persistence.flush()
    #expect(rows.count == 1)
    switch cancellation {
    case .byName: #expect(office.dispatcher.cancelScheduled(named: "a"))
    case .byHandle: handle.cancel()
    case .byDispatchName: #expect(office.dispatcher.cancel(named: "reminder") == 1)
    }
    if closes { office.dispatcher.close() }
    try await office.persistence.flush()
    #expect(rows.isEmpty)
    office.dispatcher.queue.isSuspended = false
    #expect(await handle.result.error is CancellationError)
    try await office.persistence.flush()
    #expect(rows.isEmpty)
  }

  @Test(arguments: 0..<20)
  func thatAreReplacedByManyKeepTheNewestAlone(_ round: Int) async throws {
    let office = try await Office(database, clock)
    let results = await withTaskGroup(of: (Int, DispatchResult).self) { group in
      let handles = await withTaskGroup(of: [(Int, DispatchHandle)].self) { group in
        for task in 0..<4 {
          group.addTask {
            (0..<20).map { number in
              let order = task * 20 + number
              if order == round { office.dispatcher.close() }
              return (
                order,
                office.dispatcher.dispatch(
                  Remind(order: order), options: .delayed(by: .seconds(1), name: "a"))
              )
            }
          }
        }
        return await group.reduce(into: []) { $0 += $1 }
      }
      for (order, handle) in handles { group.addTask { (order, await handle.result) } }
      return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
    }
    await office.dispatcher.drain()
    try await office.persistence.close()
    let next = try await Office(database, clock)
    let left = next.dispatcher.scheduled.flatMap(\.actions).compactMap { ($0 as? Remind)?.order }
    // All others were refused, or replaced.
    #expect(left.count <= 1)
    for order in left {
      #expect(results[order]?.errorCode == .leftToAnotherProcess, "\(order): \(results[order]!)")
    }
    if results.values.contains(where: { $0.errorCode == .skipped }) { #expect(left.count == 1) }
  }

  @Test(arguments: [false, true])
  func thatNobodyResumesAreReportedOnceAtTheEnd(isClosedBefore: Bool) async throws {
    let first = try await Office(database, clock)
    first.dispatcher.dispatch(Remind(order: 1), options: .delayed(by: .seconds(1), name: "a"))
    #expect(await first.dispatcher.drain().scheduleCount == 1)
    #expect(first.warnings.all.isEmpty)
    try await first.persistence.close()
    let next = try await Office(database, clock, resumes: false)
    if isClosedBefore { next.dispatcher.close() }
    let report = await next.dispatcher.drain()
    next.dispatcher.shutDown()
    #expect(report.scheduleCount == 1)
    #expect("\(report)".hasSuffix("Left to the next process: 1 scheduled, 0 of durable effects."))
    #expect(next.warnings.all.map(\.kind) == [.workNotResumed])
    #expect(next.warnings.all[0].message.contains("resumeWork()"))
  }

  /// The database crashes at each of the commits: no action is saved without the schedule before it.
  @Test(arguments: [false, true])
  func areSavedNoLaterThanTheCommitsAfterThem(drains: Bool) async throws {
    // With a transaction for each of three rows and three commits, the last round has no crash.
    var commits: Set<Int> = []
    for commit in 0..<7 {
      let (database, clock) = (MemoryDatabase(), VirtualClock())
      let first = try await Office(database, clock)
      database.failAtCommit(.crash, number: commit)
      let perform: @Sendable (Dispatcher) async -> Void = { dispatcher in
        for order in 1...3 {
          dispatcher.dispatch(
            Remind(order: order), options: .delayed(by: .seconds(10), name: "\(order)"))
          await dispatcher.send(Remind(order: -order))
        }
      }
      if drains { _ = await drain(first, perform) } else { await perform(first.dispatcher) }
      database.removeFaults()
      database.crash()
      let next = try await Office(database, clock)
      let names = Set(next.dispatcher.scheduled.map(\.name))
      let reminded = next.log.model.reminded
      #expect(reminded.allSatisfy { names.contains("\(-$0)") })
      commits.formUnion(reminded)
      await next.dispatcher.drain()
    }
    #expect(commits == [-1, -2, -3])
  }

  @Test func ofAClosedDispatcherAreLeftToTheNextProcess() async throws {
    let first = try await Office(database, clock)
    first.dispatcher.dispatch(Remind(order: 1), options: .delayed(by: .seconds(1), name: "a"))
    first.dispatcher.every(.seconds(1), name: "c", perform: CleanUp())
    await first.dispatcher.drain()
    try await first.persistence.close()
    #expect(rows.count == 2)
    let next = try await Office(database, clock)
    clock.advance(by: .seconds(1))
    await next.reached { $0.reminded == [1] && $0.cleaned == 1 }
  }

  /// A caller can tell them from those that never run.
  @Test(
    arguments: [Dispatcher.Mode.async, .serial, .serial(lane: "a"), .mainThread], [false, true])
  func thatArePendingWhenTheDispatcherClosesEndAsLeft(
    _ mode: Dispatcher.Mode, isSent: Bool
  ) async throws {
    let office = try await Office(database, clock)
    let (dispatcher, way) = (office.dispatcher, Way(mode: mode, sends: isSent))
    let options = [
      DispatchOptions.delayed(by: .seconds(10), name: "r"),
      .scheduled(at: clock.date.addingTimeInterval(20), name: "s"),
      .delayed(by: .seconds(10)), .delayed(by: .seconds(10), name: "t"),
    ]
    let tasks = options.enumerated().map { order, options in
      Task { await dispatcher.run(Remind(order: order), way, options: options) }
    }
    while dispatcher.scheduled.count < 4 { await Task.yield() }
    #expect(dispatcher.cancelScheduled(named: "t"))
    dispatcher.close()
    for task in tasks.prefix(2) {
      let result = await task.value
      #expect(result.errorCode == .leftToAnotherProcess && !result.hasStarted)
    }
    for task in tasks.suffix(2) { #expect(await task.value.error is CancellationError) }
    try await office.persistence.close()
    let next = try await Office(database, clock)
    #expect(next.dispatcher.scheduled.map(\.name) == ["r", "s"])
  }

  /// Runs a block of an accepted dispatch once the dispatcher is closed, and returns the drain's report.
  private func drain(
    _ office: Office, _ block: @escaping @Sendable (Dispatcher) async -> Void
  ) async -> DrainReport {
    let (dispatcher, began, goOn) = (office.dispatcher, Latch(), Latch())
    dispatcher.addStage()
    dispatcher.dispatch(
      storeIdentifier: "stage",
      action: Script.suspends { _ in
        began.open()
        await goOn.opened()
        await block(dispatcher)
      })
    await began.opened()
    dispatcher.close()
    goOn.open()
    return await dispatcher.drain()
  }

  @Test(
    arguments: [Dispatcher.Mode.async, .serial, .serial(lane: "a"), .mainThread], [false, true])
  func thatAreMadeWhileTheDispatcherDrainsAreLeftToTheNextProcess(
    _ mode: Dispatcher.Mode, isSent: Bool
  ) async throws {
    let (first, ends) = (try await Office(database, clock), Recorder<DispatchResult>())
    first.dispatcher.dispatch(Remind(order: 1), options: .delayed(by: .seconds(5), name: "r"))
    let report = await drain(first) { dispatcher in
      for (order, time) in [(2, .seconds(10)), (3, .zero)] as [(Int, Duration)] {
        let options = DispatchOptions.delayed(by: time, name: order == 2 ? "r" : "s")
        if isSent {
          ends.record(
            await dispatcher.send(Remind(order: order), mode: mode, options: options).result)
        } else {
          ends.record(
            await dispatcher.dispatch(Remind(order: order), mode: mode, options: options).result)
        }
      }
      await dispatcher.send(Remind(order: 4))
    }
    #expect(report.isComplete && report.scheduleCount == 2)
    #expect(ends.all.map(\.errorCode) == [.leftToAnotherProcess, .leftToAnotherProcess])
    try await first.persistence.close()
    #expect(rows.keys.sorted() == ["office/r", "office/s"])
    let next = try await Office(database, clock)
    await next.reached { $0.reminded == [4, 3] }
    #expect(next.dispatcher.scheduled.map(\.mode) == [mode])
    clock.advance(by: .seconds(10))
    await next.reached { $0.reminded == [4, 3, 2] }
    await next.dispatcher.drain()
    #expect(rows.isEmpty && next.dispatcher.deadLetters.isEmpty)
  }

  @Test func thatRepeatDoNotStartWhileTheDispatcherDrains() async throws {
    let first = try await Office(database, clock)
    let report = await drain(first) { dispatcher in
      dispatcher.every(.seconds(10), name: "c", perform: CleanUp())
    }
    #expect(report.isComplete && report.scheduleCount == 0)
    try await first.persistence.close()
    #expect(rows.isEmpty)
  }

  enum Unsavable: CaseIterable {
    case unnamed, unknown, list, lane

    /// The condition in the error's message that it does not meet.
    var need: String {
      switch self {
      case .unnamed: "a name"
      case .unknown: "whose ActionCoder knows the action"
      case .list: "a single action"
      case .lane: "a lane that can be saved"
      }
    }
  }

  /// Makes a dispatch that can't be saved once the dispatcher is closed, and returns its result and the drain's report.
  private func dispatch(
    _ unsavable: Unsavable, after delay: Duration, drained office: Office
  ) async -> (result: DispatchResult, report: DrainReport) {
    let ends = Recorder<DispatchResult>()
    let report = await drain(office) { dispatcher in
      let options = DispatchOptions.delayed(by: delay, name: unsavable == .unnamed ? nil : "r")
      let handle: DispatchHandle =
        switch unsavable {
        case .unnamed: dispatcher.dispatch(Remind(order: 2), options: options)
        case .unknown: dispatcher.dispatch(Secret(), options: options)
        case .list: dispatcher.dispatch(actions: [Remind(order: 2)], options: options)
        case .lane:
          dispatcher.dispatch(Remind(order: 2), mode: .serial(lane: 5.5), options: options)
        }
      ends.record(await handle.result)
    }
    return (ends.all[0], report)
  }

  @Test(arguments: Unsavable.allCases)
  func thatCannotBeSavedAreRefusedWhileTheDispatcherDrains(_ unsavable: Unsavable) async throws {
    let first = try await Office(database, clock)
    first.dispatcher.dispatch(Remind(order: 1), options: .delayed(by: .seconds(10), name: "r"))
    let (result, report) = await dispatch(unsavable, after: .seconds(5), drained: first)
    #expect(result.dispatchError?.code == .dispatcherClosed)
    #expect(result.dispatchError?.message.contains(unsavable.need) == true)
    #expect(report.isComplete && report.scheduleCount == 1)
    try await first.persistence.close()
    let next = try await Office(database, clock)
    clock.advance(by: .seconds(10))
    await next.reached { $0.reminded == [1] }
  }

  @Test(arguments: Unsavable.allCases)
  func thatCannotBeSavedAndAreDueReplaceWhatIsSavedWhileTheDispatcherDrains(
    _ unsavable: Unsavable
  ) async throws {
    let first = try await Office(database, clock)
    first.dispatcher.dispatch(Remind(order: 1), options: .delayed(by: .seconds(10), name: "r"))
    let (result, report) = await dispatch(unsavable, after: .zero, drained: first)
    #expect(result.isSuccess && report.isComplete)
    #expect(report.scheduleCount == (unsavable == .unnamed ? 1 : 0))
    try await first.persistence.close()
    #expect(rows.isEmpty == (unsavable != .unnamed))
  }

  /// A recorder pauses a dispatcher while it travels.
  @Test func ofAPausedDispatcherAreLeftToTheNextCall() async throws {
    try await leave { first in
      first.dispatcher.dispatch(Remind(order: 1), options: .delayed(by: .seconds(100), name: "r"))
      first.dispatcher.every(.seconds(60), name: "c", perform: CleanUp())
    }
    clock.advance(by: .seconds(70))
    let next = try await Office(database, clock, resumes: false)
    #expect(next.dispatcher.pause())
    next.dispatcher.resumeWork()
    #expect(next.dispatcher.schedules.count == 0)
    next.dispatcher.endPause()
    #expect(next.dispatcher.deadLetters.isEmpty && rows.count == 2)
    next.dispatcher.resumeWork()
    await next.reached { $0.cleaned == 1 }
    clock.advance(by: .seconds(30))
    await next.reached { $0.reminded == [1] }
  }

  @Test func areReplacedByName() async throws {
    try await leave { first in
      for order in 1...3 {
        first.dispatcher.dispatch(
          Remind(order: order), options: .delayed(by: .seconds(order), name: "r"))
      }
    }
    let next = try await Office(database, clock)
    #expect(next.dispatcher.scheduled.count == 1)
    clock.advance(by: .seconds(3))
    await next.reached { $0.reminded == [3] }
  }

  /// The program does not wait for `resumeWork()` before it takes the name.
  @Test func areReplacedBeforeTheyAreResumed() async throws {
    try await leaveSchedule()
    let next = try await Office(database, clock, resumes: false)
    next.dispatcher.dispatch(Remind(order: 2), options: .delayed(by: .seconds(5), name: "r"))
    next.dispatcher.resumeWork()
    clock.advance(by: .seconds(5))
    await next.reached { $0.reminded == [2] }
    clock.advance(by: .seconds(5))
    await next.dispatcher.drain()
    #expect(next.log.model.reminded == [2] && rows.isEmpty)
  }

  @Test func areReplacedBeforeTheyAreResumedByOneThatCannotBeSaved() async throws {
    try await leave { first in
      for name in ["r", "s"] {
        first.dispatcher.dispatch(Remind(order: 1), options: .delayed(by: .seconds(10), name: name))
      }
      first.dispatcher.every(.seconds(10), name: "clean", perform: CleanUp())
    }
    let next = try await Office(database, clock, resumes: false)
    next.dispatcher.dispatch(Secret(), options: .delayed(by: .seconds(5), name: "r"))
    next.dispatcher.dispatch(
      actions: [Remind(order: 2)], options: .delayed(by: .seconds(5), name: "s"))
    next.dispatcher.every(.seconds(10), name: "clean", perform: Secret())
    next.dispatcher.resumeWork()
    try await next.persistence.flush()
    #expect(rows.isEmpty && next.dispatcher.scheduled.allSatisfy { !$0.isSaved })
    #expect(next.dispatcher.scheduled.count == 3)
  }

  /// It begins at once, without a row.
  @Test(arguments: [true, false])
  func areReplacedByASyncDispatchInATaskThatIsDue(isResumed: Bool) async throws {
    try await leaveSchedule()
    let next = try await Office(database, clock, resumes: isResumed)
    next.dispatcher.addStage()
    next.dispatcher.dispatch(
      storeIdentifier: "stage", action: Script.adds("now"), mode: .sync,
      options: .delayed(by: .zero, name: "r"))
    next.dispatcher.resumeWork()
    #expect(next.dispatcher.scheduled.isEmpty)
    try await next.persistence.flush()
    #expect(rows.isEmpty)
    await next.dispatcher.drain()
    #expect(next.log.model.reminded.isEmpty)
  }

  /// The group that has made the step is undone, or lost with the process.
  @Test(arguments: GroupForm.allCases)
  func areNotSavedForAStepOfAGroup(form: GroupForm) async throws {
    let first = try await Office(database, clock)
    let dispatcher = first.dispatcher
    let group = ActionGroup {
      ActionStep(Remind(order: 1)).compensated(by: CleanUp())
      ActionStep(Remind(order: 2), options: .delayed(by: .seconds(10), name: "r"))
    }
    let running = Task { await form.run(group, by: dispatcher) }
    while dispatcher.scheduled.isEmpty { await Task.yield() }
    #expect(dispatcher.scheduled.map(\.isSaved) == [false])
    try await first.persistence.flush()
    #expect(rows.isEmpty)
    await dispatcher.drain()
    #expect(await running.value.compensated.count == 1)
    #expect(first.log.model.cleaned == 1)
    database.crash()
    let next = try await Office(database, clock)
    clock.advance(by: .seconds(10))
    await next.dispatcher.drain()
    #expect(next.log.model.reminded == [1] && first.warnings.all.isEmpty)
  }

  @Test(arguments: Meanwhile.allCases)
  private func thatAreResumedGiveWayToWhatComesMeanwhile(_ meanwhile: Meanwhile) async throws {
    let first = try await Office(database, clock)
    first.dispatcher.dispatch(Remind(order: 1), options: .delayed(by: .seconds(10), name: "r"))
    try await first.persistence.flush()
    database.crash()
    let next = try await Office(database, clock, resumes: false)
    switch meanwhile {
    case .another:
      next.dispatcher.dispatch(Remind(order: 2), options: .delayed(by: .seconds(5), name: "r"))
    case .repeating: next.dispatcher.every(.seconds(5), name: "r", perform: CleanUp())
    case .cancelled: #expect(next.dispatcher.cancelScheduled(named: "r"))
    }
    next.dispatcher.resumeWork()
    #expect(
      next.dispatcher.scheduled.map { "\($0.actions[0])" }
        == (meanwhile == .cancelled
          ? [] : [meanwhile == .another ? "\(Remind(order: 2))" : "\(CleanUp())"]))
    try await next.persistence.flush()
    #expect(rows.keys.sorted() == (meanwhile == .cancelled ? [] : ["office/r"]))
    #expect(next.dispatcher.deadLetters.isEmpty)
  }

  @Test(arguments: [[], .durability(.memory)] as [DispatchOptions])
  func ofAStoreThatWasReplacedMeanwhileBecomeDeadLetters(
    _ durability: DispatchOptions
  ) async throws {
    let office = try await Office(database, clock, actions: ActionCoder(Linger.self))
    office.dispatcher.dispatch(
      Linger(), options: [.delayed(by: .seconds(1), name: "r"), durability])
    try await office.persistence.flush()
    clock.advance(by: .seconds(1))
    _ = await office.lingers.first(1)
    office.dispatcher.unregister(store: office.log)
    try await office.persistence.delete("log")
    office.mayGoOn.record(1)
    #expect(await office.warnings.first(1).map(\.kind) == [.deadLetter])
    #expect(office.dispatcher.deadLetters.map(\.name) == ["r"])
  }

  /// Crashes a process that has saved what a closure makes.
  private func leave(_ make: (Office) -> Void) async throws {
    let first = try await Office(database, clock)
    make(first)
    try await first.persistence.flush()
    database.crash()
  }

  /// The same of one schedule.
  private func leaveSchedule(
    after delay: Duration = .seconds(10), _ key: DispatchOptions = []
  ) async throws {
    try await leave {
      $0.dispatcher.dispatch(Remind(order: 1), options: [.delayed(by: delay, name: "r"), key])
    }
  }

  @Test(arguments: DispatchLimit.Overflow.allCases)
  func areResumedAlthoughABoundIsFull(_ overflow: DispatchLimit.Overflow) async throws {
    try await leaveSchedule()
    let next = try await Office(
      database, clock, limits: DispatchLimits(queue: DispatchLimit(1, overflow: overflow)),
      resumes: false)
    let end = Recorder<Int>()
    next.dispatcher.dispatch(Hold(end: end))
    next.dispatcher.resumeWork()
    #expect(next.dispatcher.scheduled.map(\.name) == ["r"])
    clock.advance(by: .seconds(10))
    await next.reached { $0.reminded == [1] }
    end.record(1)
    await next.dispatcher.drain()
    #expect(rows.isEmpty && next.warnings.all.isEmpty)
  }

  @Test(arguments: [false, true])
  func areHeldBackAtTheirTimeWhileTooMuchIsUnsaved(isList: Bool) async throws {
    let office = try await Office(database, clock, saving: .rejecting(commits: 3))
    let options = DispatchOptions.delayed(by: .seconds(1), name: "r")
    let handle =
      isList
      ? office.dispatcher.dispatch(actions: [Remind(order: 1)], options: options)
      : office.dispatcher.dispatch(Remind(order: 1), options: options)
    try await office.persistence.flush()
    database.hold()
    for _ in 1...3 { office.log.updateModel { $0.cleaned += 1 } }
    clock.advance(by: .seconds(1))
    while !office.persistence.holdsDispatchesBack, handle.resultIfEnded == nil {
      await Task.yield()
    }
    database.release()
    #expect(await handle.result.isSuccess)
    #expect(office.log.model.reminded == [1])
    #expect(office.warnings.all.isEmpty)
    try await office.persistence.flush()
    #expect(rows.isEmpty && office.dispatcher.deadLetters.isEmpty)
  }

  @Test(arguments: [false, true])
  func runsAreHeldBackWhileTooMuchIsUnsaved(isSaved: Bool) async throws {
    let office = try await Office(database, clock, saving: .rejecting(commits: 3))
    let ends = Recorder<DispatchResult>()
    let action: any ActionType = isSaved ? CleanUp() : Secret()
    office.dispatcher.every(.seconds(1), name: "c", perform: action) { ends.record($0) }
    try await office.persistence.flush()
    database.hold()
    for _ in 1...3 { office.log.updateModel { $0.cleaned += 1 } }
    clock.advance(by: .seconds(1))
    while !office.persistence.holdsDispatchesBack, ends.count == 0 { await Task.yield() }
    database.release()
    let end = await ends.first(1)[0]
    #expect(end.isSuccess, "\(end)")
  }

  @Test(arguments: [false, true])
  func thatAreRefusedWhenTheyAreRunAgainStayDeadLetters(isClosed: Bool) async throws {
    let office = try await Office(
      database, clock, limits: DispatchLimits(queue: DispatchLimit(1)))
    let failed = office.dispatcher.dispatch(
      Remind(order: 1, fails: true), options: .delayed(by: .seconds(1), name: "r"))
    clock.advance(by: .seconds(1))
    _ = await failed.result
    let letter = try #require(office.dispatcher.deadLetters.first)
    let end = Recorder<Int>()
    if isClosed {
      office.dispatcher.close()
    } else {
      office.dispatcher.dispatch(Hold(end: end))
    }
    #expect(!office.dispatcher.runAgain(letter))
    #expect(office.dispatcher.deadLetters.map(\.error) == ["NobodyThere()"])
    #expect(office.dispatcher.savedSchedules?.count == 0)
    try await office.persistence.flush()
    database.crash()
    end.record(1)
    let next = try await Office(database, clock)
    #expect(next.dispatcher.deadLetters.map(\.error) == ["NobodyThere()"])
  }

  @Test func whoseKeyHasAnAnswerByThenLeaveNoRow() async throws {
    let key = DispatchOptions.idempotencyKey("k")
    try await leaveSchedule(key)
    let next = try await Office(database, clock, resumes: false)
    #expect(await next.dispatcher.send(Remind(order: 1), options: key).isSuccess)
    next.dispatcher.resumeWork()
    try await next.persistence.flush()
    #expect(rows.isEmpty && next.dispatcher.scheduled.isEmpty)
    #expect(next.log.model.reminded == [1])
  }

  @Test func ofDispatchersWhoseNamesHaveSlashesHaveRowsOfTheirOwn() async throws {
    let office = try await Office(database, clock, name: "a")
    let other = Dispatcher(name: "a/b", persistence: office.persistence, clock: clock)
    office.dispatcher.dispatch(Remind(order: 1), options: .delayed(by: .seconds(1), name: "b/c"))
    other.dispatch(Remind(order: 1), options: .delayed(by: .seconds(1), name: "c"))
    try await office.persistence.flush()
    #expect(rows.keys.sorted() == ["a%2Fb/c", "a/b/c"])
  }

  @Test func thatAreNotSavedBecomeNoDeadLetters() async throws {
    let office = try await Office(database, clock)
    let failed = office.dispatcher.dispatch(
      actions: [Remind(order: 1, fails: true)], options: .delayed(by: .seconds(1), name: "r"))
    clock.advance(by: .seconds(1))
    #expect(await failed.result.error is NobodyThere)
    #expect(office.dispatcher.deadLetters.isEmpty && office.warnings.all.isEmpty)
  }

  @Test(arguments: [false, true])
  func keepTheirRowsIfADeadLetterOfTheirNameIsRemovedOrRun(_ runs: Bool) async throws {
    let office = try await Office(database, clock)
    let failed = office.dispatcher.dispatch(
      Remind(order: 1, fails: true), options: .delayed(by: .seconds(1), name: "r"))
    clock.advance(by: .seconds(1))
    _ = await failed.result
    office.dispatcher.dispatch(Remind(order: 2), options: .delayed(by: .seconds(10), name: "r"))
    let letter = try #require(office.dispatcher.deadLetters.first)
    if runs {
      #expect(office.dispatcher.runAgain(letter))
      let warnings = await office.warnings.first(2)
      #expect(warnings[1].message.contains("another one is scheduled by its name"))
    } else {
      #expect(office.dispatcher.remove(letter))
    }
    try await office.persistence.flush()
    database.crash()
    let next = try await Office(database, clock)
    clock.advance(by: .seconds(10))
    await next.reached { $0.reminded == [2] }
  }

  @Test(arguments: [true, false])
  func thatFailBecomeDeadLetters(isResumed: Bool) async throws {
    let first = try await Office(database, clock)
    first.dispatcher.dispatch(
      Remind(order: 1, fails: true), options: .delayed(by: .seconds(1), name: "r"))
    clock.advance(by: .seconds(1))
    _ = await first.warnings.first(1)
    #expect(first.warnings.all.map(\.kind) == [.deadLetter])
    try await first.persistence.flush()
    database.crash()
    let next = try await Office(database, clock, resumes: isResumed)
    let letters = next.dispatcher.deadLetters
    #expect(letters.map(\.name) == ["r"] && letters[0].kind == .schedule)
    #expect(letters[0].error == "NobodyThere()")
    #expect(letters[0].action as? Remind == Remind(order: 1, fails: true))
    #expect(next.dispatcher.runAgain(letters[0]))
    _ = await next.warnings.first(1)
    let again = next.dispatcher.deadLetters
    #expect(again.count == 1)
    #expect(next.dispatcher.remove(again[0]))
    #expect(!next.dispatcher.remove(again[0]))
    try await next.persistence.flush()
    #expect(rows.isEmpty)
  }

  /// A handler that throws on what another dispatcher has said.
  @Test func thatFailWithTheErrorOfAClosedDispatcherBecomeDeadLetters() async throws {
    let other = Dispatcher(name: "other")
    other.close()
    let office = try await Office(database, clock, actions: ActionCoder(Forward.self))
    office.dispatcher.register(
      store: Store(identifier: "post", model: 0) {
        Perform(Forward.self) { _, _ in try await other.send(CleanUp()).get() }
      })
    let handle = office.dispatcher.dispatch(
      Forward(), options: .delayed(by: .seconds(1), name: "r"))
    clock.advance(by: .seconds(1))
    #expect(await handle.result.errorCode == .dispatcherClosed)
    #expect(office.dispatcher.deadLetters.map(\.name) == ["r"])
  }

  /// Its deinit would wait for ever if it was called with the lock held.
  @Test func thatReplaceADeadLetterReleaseItOutsideOfLocks() async throws {
    let office = try await Office(database, clock, actions: ActionCoder(Farewell.self))
    let released = Recorder<Int>()
    Farewell.hook.withLock { hook in
      hook = { [weak dispatcher = office.dispatcher] in
        released.record(dispatcher?.deadLetters.count ?? 0)
      }
    }
    defer { Farewell.hook.withLock { $0 = nil } }
    for failure in 1...2 {
      // No store handles it.
      office.dispatcher.dispatch(Farewell(), options: .delayed(by: .seconds(1), name: "r"))
      clock.advance(by: .seconds(1))
      _ = await office.warnings.first(failure)
      // Its row keeps it until it is saved.
      try await office.persistence.flush()
    }
    // The second letter may not be there yet: the row of the first is saved meanwhile.
    #expect(await released.first(1)[0] <= 1)
    #expect(office.dispatcher.deadLetters.count == 1)
  }

  @Test func ofAnActionThatIsNotKnownAnyLongerStay() async throws {
    try await leaveSchedule(after: .seconds(1))
    let saved = rows
    let renamed = try await Office(database, clock, actions: ActionCoder(CleanUp.self))
    #expect(renamed.warnings.all.map(\.kind) == [.workNotResumed])
    #expect(renamed.dispatcher.deadLetters.map(\.name) == ["r"])
    #expect(renamed.dispatcher.deadLetters[0].error.contains("Remind"))
    #expect(!renamed.dispatcher.runAgain(renamed.dispatcher.deadLetters[0]))
    #expect(rows == saved)
    database.crash()
    let next = try await Office(database, clock)
    clock.advance(by: .seconds(1))
    await next.reached { $0.reminded == [1] }
  }

  @Test(arguments: [true, false])
  func ofAnActionThatIsNotKnownAnyLongerAreListedBeforeTheyAreResumed(
    isRemoved: Bool
  ) async throws {
    try await leaveSchedule(after: .seconds(1))
    let renamed = try await Office(
      database, clock, actions: ActionCoder(CleanUp.self), resumes: false)
    let dispatcher = renamed.dispatcher
    let letter = try #require(dispatcher.deadLetters.first)
    #expect(letter.name == "r" && letter.action == nil && letter.error.contains("Remind"))
    #expect(dispatcher.scheduled.isEmpty && renamed.warnings.all.isEmpty)
    #expect(!dispatcher.runAgain(letter))
    if isRemoved {
      #expect(dispatcher.remove(letter))
      #expect(dispatcher.deadLetters.isEmpty && !dispatcher.remove(letter))
    }
    dispatcher.resumeWork()
    #expect(dispatcher.deadLetters.map(\.name) == (isRemoved ? [] : ["r"]))
    try await renamed.persistence.flush()
    #expect(rows.count == (isRemoved ? 0 : 1))
  }

  @Test(arguments: [true, false])
  func ofAnActionThatIsNotKnownAnyLongerAreCancelledByTheirName(isResumed: Bool) async throws {
    try await leaveSchedule(after: .seconds(1))
    let renamed = try await Office(
      database, clock, actions: ActionCoder(CleanUp.self), resumes: isResumed)
    let dispatcher = renamed.dispatcher
    #expect(dispatcher.deadLetters.map(\.attempts) == [0])
    #expect(dispatcher.cancelScheduled(named: "r"))
    #expect(!dispatcher.cancelScheduled(named: "r"))
    dispatcher.resumeWork()
    #expect(dispatcher.deadLetters.isEmpty)
    try await renamed.persistence.flush()
    #expect(rows.isEmpty)
  }

  /// It is not pending, but kept for whoever repairs it.
  @Test func ofAnActionThatHasFailedAreNotCancelledByTheirName() async throws {
    let office = try await Office(database, clock)
    office.dispatcher.dispatch(
      Remind(order: 1, fails: true), options: .delayed(by: .seconds(1), name: "r"))
    clock.advance(by: .seconds(1))
    _ = await office.warnings.first(1)
    #expect(!office.dispatcher.cancelScheduled(named: "r"))
    #expect(office.dispatcher.deadLetters.map(\.attempts) == [1])
  }

  @Test func thatRepeatKeepTheirTimesIfTheirFormerActionIsListedAsADeadLetter() async throws {
    try await leave { $0.dispatcher.every(.seconds(100), name: "clean", perform: CleanUp()) }
    clock.advance(by: .seconds(90))
    let next = try await Office(database, clock, actions: ActionCoder(Remind.self), resumes: false)
    #expect(next.dispatcher.deadLetters.map(\.name) == ["clean"])
    next.dispatcher.every(.seconds(100), name: "clean", perform: Remind(order: 1))
    #expect(next.dispatcher.scheduled.map(\.due) == [clock.date.addingTimeInterval(10)])
    #expect(next.dispatcher.deadLetters.isEmpty)
    clock.advance(by: .seconds(10))
    await next.reached { $0.reminded == [1] }
  }

  @Test(arguments: [true, false])
  func ofAnActionThatIsNotKnownAnyLongerAreListedToTheHandlerOfWarnings(
    isResumed: Bool
  ) async throws {
    let first = try await Office(database, clock)
    for (count, name) in ["r", "s"].enumerated() {
      first.dispatcher.dispatch(
        Remind(order: 1, fails: true), options: .delayed(by: .seconds(1), name: name))
      clock.advance(by: .seconds(1))
      _ = await first.warnings.first(count + 1)
    }
    try await first.persistence.flush()
    database.crash()
    let dispatcher = Dispatcher(name: "office", clock: clock)
    let (warned, listed) = (Recorder<DispatchWarning.Kind>(), Recorder<[String]>())
    dispatcher.onWarning { [weak dispatcher] warning in
      warned.record(warning.kind)
      listed.record(dispatcher?.deadLetters.map(\.name) ?? [])
    }
    let persistence = try await database.open(for: dispatcher, actions: ActionCoder(CleanUp.self))
    if isResumed { dispatcher.resumeWork() }
    #expect(dispatcher.deadLetters.map(\.name) == ["r", "s"])
    #expect(warned.all == [.workNotResumed, .workNotResumed])
    #expect(listed.all == [["r", "s"], ["r", "s"]])
    try await persistence.close()
  }

  @Test func needANameAndAKnownAction() async throws {
    let office = try await Office(database, clock)
    office.dispatcher.dispatch(Secret(), options: .delayed(by: .seconds(1), name: "secret"))
    office.dispatcher.dispatch(Remind(order: 1), options: .delayed(by: .seconds(1)))
    office.dispatcher.dispatch(
      Remind(order: 1), mode: .serial(lane: 5.5), options: .delayed(by: .seconds(1), name: "lane"))
    office.dispatcher.dispatch(
      actions: [Remind(order: 1)], options: .delayed(by: .seconds(1), name: "list"))
    #expect(office.dispatcher.scheduled.count == 4)
    #expect(office.dispatcher.scheduled.allSatisfy { !$0.isSaved })
    #expect(office.warnings.all.map(\.kind) == [.scheduleNotSaved])
    #expect(office.warnings.all[0].message.contains("lanes of serial(lane: 5.5) can't be saved"))
    try await office.persistence.flush()
    #expect(rows.isEmpty)
  }

  /// PostgreSQL would refuse the row, and with it all that is saved from then on.
  @Test(arguments: [String(repeating: "r", count: 1_024), "r\u{0}"])
  func needANameThatEveryDatabaseTakes(name: String) async throws {
    let office = try await Office(database, clock)
    office.dispatcher.dispatch(Remind(order: 1), options: .delayed(by: .seconds(10), name: name))
    office.dispatcher.every(.seconds(10), name: name + "s", perform: Remind(order: 2))
    #expect(office.dispatcher.scheduled.map(\.isSaved) == [false, false])
    #expect(office.warnings.all.map(\.kind) == [.scheduleNotSaved])
    try await office.persistence.flush()
    #expect(rows.isEmpty)
  }

  /// Opens the office as a deployment does that has forgotten to register its store.
  private func openWithoutStore() async throws -> (
    Dispatcher, Persistence, Recorder<DispatchWarning>
  ) {
    let dispatcher = Dispatcher(name: "office", clock: clock)
    let warnings = Recorder<DispatchWarning>()
    dispatcher.onWarning { warnings.record($0) }
    let persistence = try await database.open(for: dispatcher, actions: ActionCoder(Remind.self))
    dispatcher.resumeWork()
    return (dispatcher, persistence, warnings)
  }

  /// Leaves a process with a dead letter: the reminder of a store that it did not have.
  private func leaveDeadLetter() async throws {
    try await leaveSchedule(after: .seconds(1))
    let (without, persistence, warnings) = try await openWithoutStore()
    clock.advance(by: .seconds(1))
    #expect(await warnings.first(2).map(\.kind) == [.noResponder, .deadLetter])
    #expect(without.deadLetters.map(\.name) == ["r"])
    try await persistence.flush()
    database.crash()
  }

  @Test func thatNoStoreAnswersBecomeDeadLetters() async throws {
    try await leaveDeadLetter()
    let next = try await Office(database, clock)
    #expect(next.dispatcher.runAgain(next.dispatcher.deadLetters[0]))
    await next.reached { $0.reminded == [1] }
    await next.dispatcher.drain()
    #expect(rows.isEmpty)
  }

  @Test(.timeLimit(.minutes(1)))
  func areRunAgainByABlockThatIsCancelled() async throws {
    try await leaveDeadLetter()
    let next = try await Office(database, clock)
    let dispatcher = next.dispatcher
    dispatcher.addStage()
    let letter = try #require(dispatcher.deadLetters.first)
    let (began, goOn, isAccepted) = (Latch(), Latch(), Recorder<Bool>())
    let admin = dispatcher.dispatch(
      storeIdentifier: "stage",
      action: Script.suspends { _ in
        began.open()
        await goOn.opened()
        isAccepted.record(dispatcher.runAgain(letter))
      })
    await began.opened()
    admin.cancel()
    goOn.open()
    #expect(await isAccepted.first(1) == [true])
    await next.reached { $0.reminded == [1] }
  }

  @Test(.timeLimit(.minutes(1)))
  func outliveTheDeadlineOfTheBlockThatResumesThem() async throws {
    try await leaveSchedule()
    let next = try await Office(database, clock, resumes: false)
    let dispatcher = next.dispatcher
    dispatcher.addStage()
    let admin = dispatcher.dispatch(
      storeIdentifier: "stage", action: Script.runs { _ in dispatcher.resumeWork() },
      options: .timeout(.seconds(1)))
    #expect(await admin.result.isSuccess)
    clock.advance(by: .seconds(10))
    await next.reached { $0.reminded == [1] }
  }

  /// The effect is gone at their end.
  @Test func thatAnEffectHasFollowedNeedNoStore() async throws {
    let office = try await Office(database, clock, actions: ActionCoder(Reminder.self))
    let (dispatcher, followed) = (office.dispatcher, Recorder<String>())
    dispatcher.registerForOneRun(of: Reminder.self) { followed.record($0.text) }
    let handle = dispatcher.dispatch(
      Reminder(text: "a"), options: .delayed(by: .seconds(1), name: "r"))
    clock.advance(by: .seconds(1))
    #expect(await handle.result.isSuccess)
    try await office.persistence.flush()
    #expect(followed.all == ["a"] && dispatcher.deadLetters.isEmpty && rows.isEmpty)
  }

  @Test(arguments: [false, true])
  func forAStoreThatIsNotThereWaitForIt(isCancelled: Bool) async throws {
    try await leave {
      $0.log.dispatch(Remind(order: 1), options: .delayed(by: .seconds(1), name: "r"))
    }
    let (without, persistence, warnings) = try await openWithoutStore()
    #expect(warnings.all.map(\.kind) == [.workNotResumed])
    #expect(warnings.all[0].message.contains("\"log\""))
    clock.advance(by: .seconds(1))
    #expect(rows.count == 1 && without.deadLetters.isEmpty)
    if isCancelled {
      #expect(without.cancelScheduled(named: "r"))
      try await persistence.flush()
      return #expect(rows.isEmpty)
    }
    database.crash()
    let next = try await Office(database, clock)
    await next.reached { $0.reminded == [1] }
    await next.dispatcher.drain()
    #expect(rows.isEmpty)
  }

  @Test(arguments: [DispatchOptions(), .idempotencyKey("k")], [false, true])
  func forAStoreThatIsNotThereAreRefusedAtTheCall(
    _ key: DispatchOptions, hasDate: Bool
  ) async throws {
    let office = try await Office(database, clock)
    let options: DispatchOptions =
      hasDate
      ? .scheduled(at: clock.date.addingTimeInterval(1), name: "r")
      : .delayed(by: .seconds(1), name: "r")
    office.log.dispatch(Remind(order: 1), options: options)
    let refused = office.dispatcher.dispatch(
      Remind(order: 2), to: "absent", options: [options, key])
    #expect(refused.resultIfEnded?.errorCode == .unknownStore)
    try await office.persistence.flush()
    #expect(rows.count == 1 && office.dispatcher.scheduled.map(\.name) == ["r"])
    clock.advance(by: .seconds(1))
    await office.reached { $0.reminded == [1] }
    #expect(await office.dispatcher.send(Remind(order: 2), options: key).isSuccess)
  }

  @Test func forAStoreThatIsNotThereAreListed() async throws {
    try await leave {
      $0.log.dispatch(Remind(order: 1), options: .delayed(by: .seconds(2), name: "r"))
    }
    let (without, persistence, _) = try await openWithoutStore()
    without.dispatch(Remind(order: 2), options: .delayed(by: .seconds(1), name: "s"))
    let listed = without.scheduled
    #expect(listed.map(\.name) == ["s", "r"] && listed.allSatisfy(\.isSaved))
    #expect(listed.last?.storeIdentifier == "log")
    #expect(listed.last?.due == clock.date.addingTimeInterval(2))
    // Another one of its name takes its place.
    without.dispatch(Remind(order: 3), options: .delayed(by: .seconds(2), name: "r"))
    #expect(without.scheduled.map { "\($0.actions[0])" } == [2, 3].map { "\(Remind(order: $0))" })
    try await persistence.flush()
  }

  @Test func areOfTheDispatcherWithTheirName() async throws {
    try await leaveSchedule()
    let other = try await Office(database, clock, name: "other")
    #expect(other.dispatcher.scheduled.isEmpty)
    #expect(other.warnings.all.map(\.kind) == [.workNotResumed])
    #expect(other.warnings.all[0].message.contains("no dispatcher is named \"office\""))
    #expect(rows.count == 1)
  }

  @Test func keepTheirIdempotencyKeys() async throws {
    let key = DispatchOptions.idempotencyKey("k")
    try await leaveSchedule(key)
    let next = try await Office(database, clock)
    let joined = next.dispatcher.dispatch(Remind(order: 1), options: key)
    clock.advance(by: .seconds(10))
    #expect(await joined.result.isSuccess)
    await next.dispatcher.drain()
    #expect(next.log.model.reminded == [1])
    #expect(await next.dispatcher.send(Remind(order: 1)).dispatchError?.code == .dispatcherClosed)
  }

  /// The store in memory would run them, and so does the other process.
  @Test func doNotRunOnceAnotherProcessHasTheirDatabase() async throws {
    let (dispatcher, ran) = (Dispatcher(name: "office", clock: clock), Recorder<Int>())
    dispatcher.onWarning { _ in }
    let persistence = try await database.open(for: dispatcher, actions: ActionCoder(Remind.self))
    let saved = dispatcher.remindFromMemory(ran)
    let unsaved = dispatcher.dispatch(Remind(order: 3), options: .delayed(by: .seconds(10)))
    try await persistence.flush()
    database.becomeOwned()
    dispatcher.dispatch(Remind(order: 4), options: .delayed(by: .seconds(100), name: "s"))
    await #expect(throws: PersistenceError.self) { try await persistence.flush() }
    clock.advance(by: .seconds(10))
    #expect(await unsaved.result.isSuccess)
    #expect(await saved.result.errorCode == .leftToAnotherProcess)
    #expect(dispatcher.cancelScheduled(named: "s"))
    #expect(await dispatcher.drain().scheduleCount == 2)
    #expect(ran.all == [3] && rows.keys.sorted() == ["office/e", "office/r"])
  }

  @Test(arguments: [true, false])
  func runAfterTheEndOfTheLeaseOnceTheDatabaseHasAnswered(isReplaced: Bool) async throws {
    let (dispatcher, persistence, _) = try await openWithoutStore()
    let ran = Recorder<Int>()
    let saved = dispatcher.remindFromMemory(ran)
    dispatcher.every(.seconds(10), name: "s", perform: Remind(order: 3))
    let unsaved = dispatcher.dispatch(Remind(order: 4), options: .delayed(by: .seconds(10)))
    try await persistence.flush()
    database.hold()
    database.endLease()
    clock.advance(by: .seconds(10))
    while persistence.state.withLock({ $0.ownerQuestions.count < 3 }) { await Task.yield() }
    #expect(await unsaved.result.isSuccess)
    #expect(ran.all == [4])
    #expect(dispatcher.cancelScheduled(named: "s"))
    if isReplaced { database.becomeOwned() }
    database.release()
    #expect(await saved.result.errorCode == (isReplaced ? .leftToAnotherProcess : nil))
    if !isReplaced { _ = await ran.first(3) }
    await dispatcher.drain()
    #expect(ran.all.sorted() == (isReplaced ? [4] : [1, 2, 4]))
  }

  @Test func thatHaveBegunAreNotCancelledByName() async throws {
    let office = try await Office(database, clock)
    database.hold()
    office.dispatcher.dispatch(Remind(order: 1), options: .delayed(by: .seconds(1), name: "r"))
    clock.advance(by: .seconds(1))
    await office.reached { $0.reminded == [1] }
    #expect(!office.dispatcher.cancelScheduled(named: "r"))
    database.release()
    await office.dispatcher.drain()
    #expect(rows.isEmpty)
  }
}

extension Dispatcher {
  /// Adds a store in memory that records orders, and schedules 1 as "r", once, and 2 as "e", each in 10 seconds.
  fileprivate func remindFromMemory(_ ran: Recorder<Int>) -> DispatchHandle {
    register(
      store: Store(identifier: "memory", model: 0) {
        Perform(Remind.self) { remind, _ in ran.record(remind.order) }
      })
    let handle = dispatch(Remind(order: 1), options: .delayed(by: .seconds(10), name: "r"))
    every(.seconds(10), name: "e", perform: Remind(order: 2))
    return handle
  }
}
