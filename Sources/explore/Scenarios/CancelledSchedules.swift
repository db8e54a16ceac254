import DispatchStore
import DispatchStoreTesting

extension Scenario {
  /// Saved schedules of two names that are made, replaced and cancelled at once, while the dispatcher may close.
  static let cancelledSchedules = Scenario(
    name: "cancelled-schedules",
    summary:
      "what a restart finds is what was scheduled, and nothing that was cancelled or replaced"
  ) { dispatcher, simulation in
    let database = MemoryDatabase()
    let first = try await Alarms(dispatcher, database)
    let closes = simulation.draw(below: 2) == 0
    if closes { simulation.startThread { first.close() } }
    let plans = (1...5).map { AlarmPlan($0, simulation) }
    await concurrently(plans) { first.run($0) }
    if closes {
      first.close()
      await first.dispatcher.drain()
    }
    // At once, since a cancelled alarm may not come back although its dispatch has not ended.
    try await first.persistence.flush()
    if !closes {
      for plan in plans where plan.endsBeforeItsTime {
        _ = await first.handles[plan.number]?.result
      }
    }
    let scheduled = first.scheduled
    // An alarm that is cancelled in its lane is removed when it ends.
    if plans.contains(where: { $0.delay == .zero }) { try await first.persistence.flush() }
    database.crash()

    let next = try await Alarms(simulation.makeDispatcher(name: dispatcher.name), database)
    let former = next.rings
    next.dispatcher.resumeWork()
    let pending = next.scheduled
    try await simulation.clock.sleep(for: .seconds(8))
    let rings = next.rings.dropFirst(former.count)
    // Work that was due at once has begun, and is pending no longer.
    let found = pending.union(rings)
    if !closes {
      try check(found == scheduled, "\(scheduled) was scheduled, and \(found) found: \(plans)")
    }
    try check(
      found.intersection(first.cancelled.now).isEmpty,
      "\(first.cancelled.now) were cancelled, and \(found) found")
    for (number, handle) in first.handles.now.sorted(by: { $0.key < $1.key }) where closes {
      let result = await handle.result
      switch result.error {
      case nil: try check(!found.contains(number), "\(number) has run, and was found")
      case let error as DispatchError where error.code == .leftToAnotherProcess:
        // A schedule that was accepted before the end, and came after it, may have taken the name.
        let name = plans.first { $0.number == number }!.name
        let isReplaced = plans.contains {
          $0.name == name && !first.made.now.contains($0.number) && found.contains($0.number)
        }
        try check(
          found.contains(number) || isReplaced,
          "\(number) was pending at the end, and is not found: \(plans)")
      case is CancellationError:
        try check(
          plans.contains { $0.mayCancel(number) }, "\(number) was cancelled by nobody: \(plans)")
      default: try check(!found.contains(number), "\(number) was found: \(result)")
      }
    }
    for number in found.subtracting(AlarmPlan.repeating) {
      try check(
        next.rings.count { $0 == number } == 1, "\(number) has not run once: \(next.rings)")
    }
  }
}

private struct Alarm: CodableAction, Equatable { let number: Int }

private struct Bell: ModelType, Codable { var rings: [Int] = [] }

/// Something that is done with an alarm, as it was drawn.
private struct AlarmPlan: Sendable, CustomStringConvertible {
  enum Act: Sendable {
    case schedule
    case scheduleAndCancel
    case every
    case cancelName
  }

  /// The numbers of alarms that repeat.
  static let repeating = Set(101...105)

  let number: Int
  let name: String
  let act: Act
  let delay: Duration

  var description: String { "\(number) \(act) \(name) after \(delay)" }

  init(_ number: Int, _ simulation: SimulationControl) {
    self.number = number
    name = ["a", "b"][simulation.draw(below: 4) / 3]
    act =
      [.schedule, .schedule, .scheduleAndCancel, .scheduleAndCancel, .every, .cancelName][
        simulation.draw(below: 6)]
    delay = .seconds([0, 1, 1, 5][simulation.draw(below: 4)])
  }

  /// Whether its dispatch ends before time passes.
  var endsBeforeItsTime: Bool { delay == .zero || mayCancel(number) }

  /// Whether it may cancel the alarm of a number.
  func mayCancel(_ other: Int) -> Bool {
    switch act {
    case .schedule, .every: false
    case .scheduleAndCancel: number == other
    case .cancelName: true
    }
  }
}

private final class Alarms: Sendable {
  let dispatcher: Dispatcher
  let persistence: Persistence
  /// The numbers that were scheduled before anything closed.
  let made = Shared(Set<Int>())
  /// The numbers that were cancelled before anything closed.
  let cancelled = Shared(Set<Int>())
  let handles = Shared([Int: DispatchHandle]())
  private let isClosing = Shared(false)
  private let bell: Store<Bell, HandledAction>

  var rings: [Int] { bell.model.rings }

  /// The numbers of the pending alarms.
  var scheduled: Set<Int> {
    Set(dispatcher.scheduled.compactMap { ($0.actions.first as? Alarm)?.number })
  }

  init(_ dispatcher: Dispatcher, _ database: MemoryDatabase) async throws {
    self.dispatcher = dispatcher
    dispatcher.onWarning { _ in }
    persistence = try await database.open(for: dispatcher, actions: ActionCoder(Alarm.self))
    bell = try await dispatcher.register(
      store: Store(identifier: "bell", model: Bell()) {
        On(Alarm.self) { bell, alarm in bell.rings.append(alarm.number) }
      }, persisted: .model)
  }

  func close() {
    isClosing.with { $0 = true }
    dispatcher.close()
  }

  func run(_ plan: AlarmPlan) {
    switch plan.act {
    case .schedule:
      _ = schedule(plan)
    case .scheduleAndCancel:
      schedule(plan).cancel()
      // If its time has come at once, it may have begun.
      if plan.delay > .zero, !isClosing.now { cancelled.with { _ = $0.insert(plan.number) } }
    case .every:
      dispatcher.every(.seconds(2), name: plan.name, perform: Alarm(number: 100 + plan.number))
    case .cancelName:
      _ = dispatcher.cancelScheduled(named: plan.name)
    }
  }

  private func schedule(_ plan: AlarmPlan) -> DispatchHandle {
    let handle = dispatcher.dispatch(
      Alarm(number: plan.number), mode: .serial,
      options: .delayed(by: plan.delay, name: plan.name))
    handles[plan.number] = handle
    if !isClosing.now { made.with { _ = $0.insert(plan.number) } }
    return handle
  }
}
