import DispatchStore
import DispatchStoreTesting
import Foundation

extension Scenario {
  /// Scheduled dispatches of two names and of none, which are replaced, cancelled, time out, or whose date jumps.
  static let schedules = Scenario(
    name: "schedules", summary: "scheduled dispatches begin at their times, once, or not at all"
  ) { dispatcher, simulation in
    let watch = ScheduleWatch(of: dispatcher, simulation.clock)
    _ = dispatcher.makeJournal("journal")
    simulation.startThread { simulation.clock.jump(by: .seconds(20)) }
    simulation.startThread { simulation.clock.jump(by: .seconds(-20)) }
    simulation.startThread { dispatcher.cancelScheduled(named: "0") }
    await concurrently(0..<3) { producer in
      await withTaskGroup { inner in
        for count in 0..<4 {
          let number = 1 + producer * 4 + count
          let seconds = Int64(simulation.draw(below: 4))
          let name = ["0", "1", nil][simulation.draw(below: 3)]
          let isSent = simulation.draw(below: 2) == 0
          inner.addTask {
            await watch.dispatch(number, in: .seconds(seconds), name, isSent: isSent)
          }
          try? await simulation.clock.sleep(for: .seconds(1) * simulation.draw(below: 3) / 2)
        }
      }
    }
    // Undisturbed: the second one of a name begins at its time, the first one does not, whatever comes first.
    for (number, seconds) in [(21, [3, 1]), (31, [1, 3])] as [(Int, [Int64])] {
      let handles = (0..<2).map { index in
        watch.dispatch(number + index, in: .seconds(seconds[index]), "0")
      }
      let ends = await handles.results
      try check(ends[0].dispatchError?.code == .skipped, "\(number) ended as \(ends[0])")
      try check(ends[1].isSuccess, "\(number + 1) ended as \(ends[1])")
    }
    try await simulation.clock.sleep(for: .seconds(60))
    try watch.checkTimes()
    try check(dispatcher.scheduled.isEmpty, "\(dispatcher.scheduled)")
  }

  /// Repeating schedules, one of which takes longer than its interval, with a late run and a replacement.
  static let repeating = Scenario(
    name: "repeating", summary: "runs of a repeating schedule come at fixed times, one at a time"
  ) { dispatcher, simulation in
    let (clock, start) = (simulation.clock, simulation.clock.now)
    let watch = BeginWatch(clock)
    dispatcher.register(middleware: watch)
    let running = InFlight()
    dispatcher.makeStore("ticks", of: Tick.self) { action, store in
      ActionOperation(action: action, store: store) { tick, store async throws in
        if tick.number == 2 { running.note(1) }
        try await simulation.clock.sleep(for: tick.time)
        if tick.number == 2 { running.note(-1) }
      }
    }
    dispatcher.every(.seconds(2), name: "short", perform: Tick(number: 1, time: .zero))
    dispatcher.every(.seconds(2), name: "long", perform: Tick(number: 2, time: .seconds(3)))
    let late = Shared(Duration.zero)
    simulation.startThread {
      clock.advance(by: .seconds(3))
      late.with { $0 = clock.now.offset }
    }
    let replacing = Shared([Duration]())
    simulation.startThread {
      // The time may have passed when the schedule starts.
      replacing.append(clock.now.offset)
      dispatcher.every(.seconds(5), name: "short", perform: Tick(number: 3, time: .zero))
      replacing.append(clock.now.offset)
    }
    try await clock.sleep(for: .seconds(40))
    dispatcher.close()
    let end = clock.now.offset
    try await clock.sleep(for: .seconds(20))
    try check(running.most <= 2, "\(running.most) runs at once")
    try check(dispatcher.scheduled.isEmpty, "\(dispatcher.scheduled)")
    for (number, time) in watch.begun {
      try check(time <= end, "\(number) began at \(time), after the end")
      let origins = number == 3 ? Set(replacing.now) : [start.offset]
      let interval = Duration.seconds(number == 3 ? 5 : 2)
      // The thread that advances the time may be interrupted before it notes the new one.
      let isInTime = origins.contains { ($0 - time).isMultiple(of: interval) }
      try check(
        isInTime || time <= late.now, "\(number) began at \(time), between two of its times")
    }
    let third = watch.begun.filter { $0.number == 3 }
    try check(third.count >= 6, "the third one ran \(third.count) times")
    let firstOfThird = third.map(\.time).min()!
    try check(
      watch.begun.allSatisfy { $0.number != 1 || $0.time <= firstOfThird },
      "the replaced one goes on: \(watch.begun)")
  }

  /// A dispatcher that is closed while dispatches are pending.
  static let closedSchedules = Scenario(
    name: "closed-schedules", summary: "a closed dispatcher cancels what is pending, and is drained"
  ) { dispatcher, simulation in
    let other = simulation.makeDispatcher(name: "other")
    let watch = ScheduleWatch(of: other, simulation.clock)
    _ = other.makeJournal("journal")
    let way = simulation.draw(below: 3)
    simulation.startThread {
      switch way {
      case 0: other.close()
      case 1: other.shutDown()
      default: other.drain { _ in }
      }
    }
    var handles: [DispatchHandle] = []
    for number in 1...4 {
      let time = Duration.seconds(Int64(simulation.draw(below: 4)))
      handles.append(watch.dispatch(number, in: time, number == 1 ? "k" : nil))
    }
    handles.append(watch.dispatch(5, in: .seconds(1_000_000), "k"))
    other.every(.seconds(1), name: "tick", perform: Entry.note(6))
    let report = await other.drain()
    try check(report.isComplete && other.scheduled.isEmpty, "\(report), \(other.scheduled)")
    let completed = watch.completed
    for (index, handle) in handles.enumerated() where !completed.contains(index + 1) {
      let result = await handle.result
      try check(result.dispatchError?.code == .dispatcherClosed, "outlives the drain: \(result)")
    }
    let count = watch.begun.count
    try await simulation.clock.sleep(for: .seconds(10))
    try check(watch.begun.count == count, "began after the drain: \(watch.begun)")
  }
}

extension Duration {
  fileprivate func isMultiple(of other: Duration) -> Bool {
    attoseconds % other.attoseconds == 0
  }
}

/// An action whose run takes a time.
private struct Tick: Numbered {
  let number: Int
  let time: Duration
}

/// Makes scheduled dispatches, and notes when they were due, began and ended.
private final class ScheduleWatch: Sendable {
  private struct Plan {
    let time: Duration
    let isDate: Bool
  }

  private let dispatcher: Dispatcher
  private let begins: BeginWatch
  private let plans = Shared([Int: Plan]())
  private let results = Shared([Int: [DispatchResult]]())

  init(of dispatcher: Dispatcher, _ clock: VirtualClock) {
    (self.dispatcher, begins) = (dispatcher, BeginWatch(clock))
    dispatcher.register(middleware: begins)
  }

  var begun: [(number: Int, time: Duration)] { begins.begun }
  var completed: Set<Int> { Set(results.now.keys) }

  @discardableResult
  func dispatch(_ number: Int, in time: Duration, _ name: String?) -> DispatchHandle {
    let modes: [Dispatcher.Mode] = [.async, .serial, .serial(lane: "a"), .mainThread]
    return dispatcher.dispatch(
      number % 3 == 0 ? Entry.slow(number) : .work(number), mode: modes[number % 4],
      options: options(number, in: time, name), then: completion(number))
  }

  func dispatch(_ number: Int, in time: Duration, _ name: String?, isSent: Bool) async {
    guard isSent else {
      await dispatch(number, in: time, name).ended()
      return
    }
    await dispatcher.send(
      Entry.work(number), mode: .serial, options: options(number, in: time, name),
      then: completion(number))
  }

  private func completion(_ number: Int) -> @Sendable (DispatchResult) -> Void {
    { [results] result in results.append(result, at: number) }
  }

  private func options(_ number: Int, in time: Duration, _ name: String?) -> DispatchOptions {
    let isDate = number % 2 == 0 && number < 20
    let date = begins.clock.date
    plans[number] = Plan(time: begins.clock.now.offset + time, isDate: isDate)
    let seconds = Double(time.components.seconds)
    let options: DispatchOptions =
      isDate
      ? .scheduled(at: date.addingTimeInterval(seconds), name: name)
      : .delayed(by: time, name: name)
    // The deadline comes with the time, before it, or after.
    return number == 5 || number == 6 ? [options, .timeout(.seconds(2))] : options
  }

  /// Each has ended once, and what is delayed has begun at its time, if at all.
  func checkTimes() throws {
    for (number, plan) in plans.now.sorted(by: { $0.key < $1.key }) {
      let (results, times) = (results[number] ?? [], begun.filter { $0.number == number })
      try check(results.count == 1, "\(number) has ended \(results.count) times")
      try check(times.count <= 1, "\(number) began \(times.count) times")
      if results[0].isSuccess { try check(times.count == 1, "\(number) did not begin") }
      if results[0].dispatchError?.code == .skipped {
        try check(times.isEmpty, "\(number) was skipped, and began")
      }
      guard let time = times.first?.time else { continue }
      // The date is moved by 20 seconds at most, and that is noticed at once.
      let shift = plan.isDate ? Duration.seconds(20) : .zero
      try check(
        (plan.time - shift...plan.time + shift).contains(time),
        "\(number) began at \(time), not at \(plan.time)")
    }
  }
}
