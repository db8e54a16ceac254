import Testing

@testable import DispatchStore

/// The state machines of schedules, without threads.
@Suite("Schedule state")
struct ScheduleStateTests {
  private typealias State = ScheduleState<String>

  private var state = State()

  private static func moment(_ elapsed: Int64, _ unix: Int64? = nil) -> Moment {
    Moment(elapsed: elapsed, unix: unix ?? 1_000_000 + elapsed)
  }

  private static func entry(
    _ name: String, _ due: ScheduleTime, named: String? = nil, every interval: Int64? = nil,
    missed: MissedRuns = .once
  ) -> State.Entry {
    State.Entry(
      member: name, name: named, due: due,
      repetition: interval.map { Repetition(interval: $0, missed: missed) })
  }

  private mutating func wait(_ entry: State.Entry, at time: Int64 = 0) -> State.Token? {
    guard case .waits(let token, _, _) = state.arrive(entry, at: Self.moment(time)) else {
      return nil
    }
    return token
  }

  @Test mutating func entriesBeginInTheOrderOfTheirTimes() {
    for time in [5, 3, 9, 3, 1] as [Int64] { _ = wait(Self.entry("\(time)", .elapsed(time))) }
    #expect(state.nextLook(at: Self.moment(0)) == 1)
    #expect(state.takeDue(at: Self.moment(4)) == ["1", "3", "3"])
    #expect(state.takeDue(at: Self.moment(4)).isEmpty)
    #expect(state.takeDue(at: Self.moment(9)) == ["5", "9"])
    #expect(state.nextLook(at: Self.moment(9)) == nil)
  }

  @Test mutating func datesAndTimesOfTheClockBeginInOneOrder() {
    let start: Int64 = 1_000_000
    for time in [2, 4] as [Int64] { _ = wait(Self.entry("\(time)", .elapsed(time))) }
    for time in [1, 3] as [Int64] { _ = wait(Self.entry("\(time)", .date(start + time))) }
    #expect(state.takeDue(at: Self.moment(3)) == ["1", "2", "3"])
    #expect(state.takeDue(at: Self.moment(4)) == ["4"])
  }

  @Test func aNegativeDelayIsNone() {
    let rule = ScheduleRule(begin: .after(.min), name: nil, missed: .once)
    let due = rule.time(at: Self.moment(5))
    #expect(due.hasCome(at: Self.moment(5)))
    #expect(due.unix(at: Self.moment(6)) == Self.moment(5).unix)
  }

  @Test mutating func anEntryWhoseTimeHasComeBeginsAndReplaces() {
    _ = wait(Self.entry("1", .elapsed(5), named: "k"))
    let arrival = state.arrive(Self.entry("2", .date(7), named: "k"), at: Self.moment(0, 7))
    guard case .begins(let replaced, _) = arrival, replaced?.member == "1" else {
      Issue.record("\(arrival)")
      return
    }
    #expect(state.entries.isEmpty)
  }

  @Test mutating func anEntryThatMayNotWaitChangesNothing() {
    _ = wait(Self.entry("1", .elapsed(5), named: "k"))
    let entry = Self.entry("2", .elapsed(6), named: "k")
    guard case .refused = state.arrive(entry, at: Self.moment(0), .never) else {
      Issue.record("It was not refused.")
      return
    }
    #expect(state.takeDue(at: Self.moment(9)) == ["1"])
  }

  @Test mutating func aRemovedEntryLeavesTheNameOfTheNextOne() {
    let first = wait(Self.entry("1", .elapsed(5), named: "k"))!
    _ = wait(Self.entry("2", .elapsed(6), named: "k"))
    #expect(state.remove(first) == nil)
    #expect(state.cancel("k")?.member == "2")
    #expect(state.cancel("k") == nil)
    #expect(state.takeDue(at: Self.moment(9)).isEmpty)
  }

  @Test mutating func datesAreLookedAtEvery30Seconds() {
    let second: Int64 = 1_000_000_000
    _ = wait(Self.entry("1", .date(100 * second)))
    #expect(state.nextLook(at: Self.moment(7, 0)) == 7 + 30 * second)
    #expect(state.nextLook(at: Self.moment(7, 90 * second)) == 7 + 10 * second)
    #expect(state.nextLook(at: Self.moment(7, .max)) == 7)
    #expect(state.nextLook(at: Self.moment(7, .min)) == 7 + 30 * second)
    #expect(state.takeDue(at: Self.moment(.max, 100 * second - 1)).isEmpty)
    #expect(state.takeDue(at: Self.moment(0, 100 * second)) == ["1"])
  }

  @Test mutating func theEndOfTimeNeedsNoTimer() {
    _ = wait(Self.entry("1", .elapsed(.max)))
    _ = wait(Self.entry("2", .date(.max)))
    #expect(state.nextLook(at: Self.moment(0)) == nil)
    #expect(state.entries.map { $0.due.unix(at: Self.moment(5)) } == [.max, .max])
  }

  @Test mutating func aTickThatIsNotOverSkipsTheNext() {
    _ = wait(Self.entry("k", .elapsed(10), named: "k", every: 10))
    #expect(state.takeDue(at: Self.moment(10)) == ["k"])
    #expect(state.takeDue(at: Self.moment(20)).isEmpty)
    state.runEnded("k")
    #expect(state.nextLook(at: Self.moment(20)) == 30)
    #expect(state.takeDue(at: Self.moment(30)) == ["k"])
  }

  @Test mutating func aReplacedSchedulesRunSkipsTheNextOnesTick() {
    _ = wait(Self.entry("old", .elapsed(10), named: "k", every: 10))
    #expect(state.takeDue(at: Self.moment(10)) == ["old"])
    _ = wait(Self.entry("new", .elapsed(20), named: "k", every: 10), at: 10)
    #expect(state.takeDue(at: Self.moment(20)).isEmpty)
    state.runEnded("k")
    #expect(state.takeDue(at: Self.moment(30)) == ["new"])
  }

  @Test(
    arguments: [
      (MissedRuns.once, 10, true, 20), (.once, 19, true, 20), (.once, 20, true, 30),
      (.once, 99, true, 100), (.skip, 19, true, 20), (.skip, 20, false, 30),
      (.skip, 99, false, 100),
    ] as [(MissedRuns, Int64, Bool, Int64)])
  func timesAreFixed(_ missed: MissedRuns, now: Int64, runs: Bool, next: Int64) {
    let (isRun, time) = Repetition(interval: 10, missed: missed).advance(from: 10, at: now)
    #expect(isRun == runs)
    #expect(time == next)
  }

  @Test(
    arguments: [
      (.once, 95, 5), (.once, 90, 10), (.once, 0, 10), (.skip, -50, 10), (.once, 107, -7),
      (.skip, 107, 3),
    ] as [(MissedRuns, Int64, Int64)])
  func aSavedTimeIsNoFurtherAwayThanAnInterval(_ missed: MissedRuns, now: Int64, left: Int64) {
    #expect(Repetition(interval: 10, missed: missed).left(until: 100, at: now) == left)
  }

  @Test func theLastTimeIsTheEndOfTime() {
    let repetition = Repetition(interval: .max, missed: .once)
    #expect(repetition.advance(from: 10, at: 11).next == .max)
    #expect(Repetition(interval: 1, missed: .once).advance(from: 1, at: .max).next == .max)
  }

  @Test mutating func aClosedScheduleAcceptsNothing() {
    _ = wait(Self.entry("1", .elapsed(5)))
    _ = wait(Self.entry("2", .date(.max), named: "k"))
    #expect(state.close().sorted() == ["1", "2"])
    guard case .closed(number: 3) = state.arrive(Self.entry("3", .elapsed(9)), at: Self.moment(0)),
      case .closed(number: 4) = state.arrive(
        Self.entry("4", .date(5)), at: Self.moment(0, 5), .always)
    else {
      Issue.record("It was accepted, or has no number of its own.")
      return
    }
    #expect(state.close().isEmpty)
    #expect(state.nextLook(at: Self.moment(0)) == nil)
  }
}

/// The timer that all schedules share.
@Suite("Moving timer")
struct MovingTimerTests {
  private static let token = TimerToken(number: 1)
  private let timer = MovingTimer()

  @Test func itMovesToAnEarlierTimeOnly() {
    let first = timer.move(to: 10)
    #expect(first.next?.time == 10 && first.former == nil)
    let isKept = timer.keep(Self.token, first.next!.number)
    #expect(isKept)
    #expect(timer.move(to: 10).next == nil)
    #expect(timer.move(to: 20).next == nil)
    let second = timer.move(to: 5)
    #expect(second.next?.time == 5 && second.former == Self.token)
  }

  @Test func aTimerThatHasMovedMeanwhileIsNotKept() {
    let first = timer.move(to: 10).next!
    let second = timer.move(to: 5).next!
    let areKept = [first, second].map { timer.keep(Self.token, $0.number) }
    #expect(areKept == [false, true])
    #expect(timer.move(to: nil).former == Self.token)
    #expect(timer.move(to: nil).former == nil)
  }

  @Test func aTimerThatHasFiredMeanwhileIsNotKept() {
    let first = timer.move(to: 10).next!
    timer.fired(at: 10)
    let isKept = timer.keep(Self.token, first.number)
    #expect(!isKept)
    #expect(timer.move(to: 30).next?.time == 30)
  }
}
