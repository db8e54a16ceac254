import DispatchStore
import DispatchStoreTesting

extension Scenario {
  /// Scheduled actions, before and after a crash.
  static let savedSchedules = Scenario(
    name: "saved-schedules",
    summary: "a saved action runs once at its time, whenever the process dies"
  ) { dispatcher, simulation in
    let database = MemoryDatabase()
    let first = try await Reminders(dispatcher, database)
    let plans = (1...4).map { ReminderPlan($0, simulation) }
    for plan in plans { first.schedule(plan) }
    let began = simulation.clock.now.offset
    first.dispatcher.every(.seconds(2), name: "tick", perform: Tick())
    let isSaved = (try? await first.persistence.flush()) != nil
    database.failAtSomeTime(simulation)
    try await simulation.clock.sleep(for: .milliseconds(simulation.draw(below: 6_000)))
    let cancelled = plans.filter {
      $0.isCancelled && first.dispatcher.cancelScheduled(named: $0.name)
    }
    _ = try? await first.persistence.flush()
    database.removeFaults()
    database.crash()

    func times() -> String? {
      database.rows(ofStore: "dispatchstore.work", part: 3)["\(dispatcher.name)/tick"]
    }
    // A process that dies soon after it has resumed, when a run is due.
    try await simulation.clock.sleep(for: .seconds(2))
    let short = try await Reminders(simulation.makeDispatcher(name: dispatcher.name), database)
    let before = (ticks: short.book.ticks, time: times())
    database.fail(.crash, afterSteps: simulation.draw(below: 30))
    short.dispatcher.resumeWork()
    _ = try? await short.persistence.flush()
    database.removeFaults()
    database.crash()

    let next = try await Reminders(simulation.makeDispatcher(name: dispatcher.name), database)
    let ticks = next.book.ticks
    try check(
      ticks == before.ticks || times() != before.time,
      "a run has not saved the time of the next one")
    next.dispatcher.resumeWork()
    try check(
      !isSaved || next.dispatcher.scheduled.contains { $0.name == "tick" && $0.isSaved },
      "the repeating schedule is lost")
    try await simulation.clock.sleep(for: .seconds(8))
    let book = next.book
    for plan in plans where !cancelled.contains(where: { $0.number == plan.number }) {
      let count = book.done.count { $0 == plan.number }
      try check(count <= 1, "\(plan.number) has run \(count) times: \(book.done)")
      try check(count == 1 || !isSaved || plan.fails, "\(plan.number) is lost: \(book.done)")
    }
    let letters = Set(next.dispatcher.deadLetters.map(\.name))
    for plan in plans where plan.fails && isSaved && !plan.isCancelled {
      try check(letters.contains(plan.name), "\(plan.name) is in no dead letter: \(letters)")
    }
    let times = Int((simulation.clock.now.offset - began) / .seconds(2))
    try check(book.ticks <= times, "\(times) times have come, and \(book.ticks) runs")
    try check(book.ticks - ticks >= 3, "\(book.ticks - ticks) runs in 8 seconds")
    try check(
      next.dispatcher.scheduled.map(\.name) == ["tick"], "\(next.dispatcher.scheduled) is left")
  }
}

private struct Remind: CodableAction {
  let number: Int
  let fails: Bool
}

private struct Tick: CodableAction {}

private struct Notes: ModelType, Codable {
  var done: [Int] = []
  var ticks = 0
}

/// A reminder, as it was drawn.
private struct ReminderPlan: Sendable {
  let number: Int
  let delay: Duration
  let isCancelled: Bool
  let fails: Bool
  let mode: Dispatcher.Mode

  var name: String { "reminder \(number)" }

  init(_ number: Int, _ simulation: SimulationControl) {
    self.number = number
    // A quarter of the schedules is due at once.
    delay = .milliseconds(max(0, simulation.draw(below: 6_667) - 1_667))
    isCancelled = simulation.draw(below: 4) == 0
    fails = simulation.draw(below: 5) == 0
    mode = [.async, .serial, .serial(lane: "a"), .mainThread][simulation.draw(below: 4)]
  }
}

private final class Reminders: Sendable {
  let dispatcher: Dispatcher
  let persistence: Persistence
  private let notes: Store<Notes, HandledAction>

  var book: Notes { notes.model }

  init(_ dispatcher: Dispatcher, _ database: MemoryDatabase) async throws {
    self.dispatcher = dispatcher
    dispatcher.onWarning { _ in }
    persistence = try await database.open(
      for: dispatcher, actions: ActionCoder(Remind.self, Tick.self))
    notes = try await dispatcher.register(
      store: Store(identifier: "notes", model: Notes()) {
        On(Remind.self) { notes, remind in
          if remind.fails { throw Broken(description: "nobody is there") }
          notes.done.append(remind.number)
        }
        On(Tick.self) { notes, _ in notes.ticks += 1 }
      }, persisted: .model)
  }

  func schedule(_ plan: ReminderPlan) {
    dispatcher.dispatch(
      Remind(number: plan.number, fails: plan.fails), mode: plan.mode,
      options: .delayed(by: plan.delay, name: plan.name))
  }
}
