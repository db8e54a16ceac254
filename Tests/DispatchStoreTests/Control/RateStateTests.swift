import Testing

@testable import DispatchStore

@Suite("When the dispatches of a key begin")
struct RateStateTests {
  final class Member {}

  /// What comes at each time, and what begins and is skipped at which: members are named by their order.
  struct Run {
    var state = RateState<Member>()
    var members: [Member] = []
    var begun: [String] = []
    var skipped: [Int] = []

    func name(_ member: Member) -> Int { members.firstIndex { $0 === member }! }

    mutating func come(_ rule: RateRule, at time: Int64, mayWait: Bool = true) {
      let member = Member()
      members.append(member)
      let (arrival, due) = state.arrive(
        member, rule, from: CallSite("Test", UInt(members.count)), at: time,
        mayWait: mayWait)
      if let due { begun.append("\(name(due)) ≤ \(time)") }
      switch arrival {
      case .begin: begun.append("\(members.count - 1) = \(time)")
      case .wait(let replaced): if let replaced { skipped.append(name(replaced)) }
      case .skip: skipped.append(members.count - 1)
      case .refuse: begun.append("refused \(members.count - 1)")
      }
    }

    mutating func pass(to time: Int64) {
      if let due = state.settle(at: time) { begun.append("\(name(due)) @ \(time)") }
    }

    mutating func withdraw(_ number: Int) { state.withdraw(members[number]) }
  }

  static func debounce(
    _ period: Int64, _ edges: RateEdges = .trailing, longest: Int64? = nil
  ) -> RateRule {
    RateRule(period: period, edges: edges, isExtended: true, longest: longest)
  }

  static func throttle(_ period: Int64, _ edges: RateEdges) -> RateRule {
    RateRule(period: period, edges: edges, isExtended: false, longest: nil)
  }

  @Test func ofABurstTheLastOneBeginsAPeriodLater() {
    var run = Run()
    for time in [0, 4, 13, 22] { run.come(Self.debounce(10), at: Int64(time)) }
    #expect(run.skipped == [0, 1, 2])
    run.pass(to: 31)
    #expect(run.begun.isEmpty && run.state.end == 32)
    run.pass(to: 32)
    #expect(run.begun == ["3 @ 32"])
    run.pass(to: 41)
    #expect(run.state.end != nil, "A new interval has begun.")
    run.pass(to: 42)
    #expect(run.state.end == nil)
  }

  @Test func oneThatComesAtTheEndDoesNotBelongToTheInterval() {
    var run = Run()
    run.come(Self.debounce(10), at: 0)
    run.come(Self.debounce(10), at: 10)
    #expect(run.begun == ["0 ≤ 10"] && run.skipped.isEmpty)
    #expect(run.state.end == 20)
    run.come(Self.debounce(10), at: 19)
    #expect(run.skipped == [1] && run.state.end == 29)
    run.come(Self.debounce(10), at: 1_000)
    #expect(run.begun == ["0 ≤ 10", "2 ≤ 1000"] && run.state.end == 1_010)
  }

  @Test func anEndlessBurstHasItsTurnAfterTheLongestTime() {
    var run = Run()
    for time in stride(from: Int64(0), through: 60, by: 5) {
      run.come(Self.debounce(10, longest: 25), at: time)
    }
    // At 25, 50: the one at the instant itself is in the next interval.
    #expect(run.begun == ["4 ≤ 25", "9 ≤ 50"])
    run.pass(to: 70)
    #expect(run.begun.last == "12 @ 70")
  }

  @Test func theFirstOfABurstBeginsWhereThatIsTheLeadingEdge() {
    var run = Run()
    for time in [0, 9, 18] { run.come(Self.debounce(10, .leading), at: Int64(time)) }
    #expect(run.begun == ["0 = 0"] && run.skipped == [1, 2])
    run.come(Self.debounce(10, .leading), at: 28)
    #expect(run.begun == ["0 = 0", "3 = 28"])
    var both = Run()
    for time in [0, 9, 18] { both.come(Self.debounce(10, .both), at: Int64(time)) }
    both.pass(to: 28)
    #expect(both.begun == ["0 = 0", "2 @ 28"] && both.skipped == [1])
    both.pass(to: 38)
    #expect(both.state.end == nil && both.begun.count == 2, "Alone it begins once.")
  }

  @Test func leadingTheFirstOfAnIntervalBegins() {
    var run = Run()
    for time in [3, 4, 12, 13, 14, 40] { run.come(Self.throttle(10, .leading), at: Int64(time)) }
    #expect(run.begun == ["0 = 3", "3 = 13", "5 = 40"] && run.skipped == [1, 2, 4])
    run.pass(to: 49)
    #expect(run.state.end != nil)
    run.pass(to: 50)
    #expect(run.state.end == nil)
  }

  @Test func anIntervalIsGivenBackUnlessAnotherOneWaitsForItsEnd() {
    var run = Run()
    run.come(Self.throttle(10, .leading), at: 0)
    run.withdraw(0)
    #expect(run.state.end == nil)
    run.come(Self.throttle(10, .both), at: 1)
    run.come(Self.throttle(10, .both), at: 2)
    run.withdraw(1)
    #expect(run.state.end == 11)
    run.pass(to: 11)
    #expect(run.begun == ["0 = 0", "1 = 1", "2 @ 11"])
    // Of an earlier interval.
    run.withdraw(1)
    #expect(run.state.end == 21)
  }

  @Test func trailingTheLastOfAnIntervalBeginsAtItsEndWhereANewOneBegins() {
    var run = Run()
    for time in [0, 4, 9, 10, 15] { run.come(Self.throttle(10, .trailing), at: Int64(time)) }
    #expect(run.begun == ["2 ≤ 10"] && run.skipped == [0, 1, 3])
    run.pass(to: 20)
    run.pass(to: 30)
    #expect(run.begun == ["2 ≤ 10", "4 @ 20"] && run.state.end == nil)
  }

  @Test func bothTheFirstAndTheLastBegin() {
    var run = Run()
    for time in [0, 4, 9, 12] { run.come(Self.throttle(10, .both), at: Int64(time)) }
    run.pass(to: 20)
    #expect(run.begun == ["0 = 0", "2 ≤ 12", "3 @ 20"] && run.skipped == [1])
    run.pass(to: 30)
    run.come(Self.throttle(10, .both), at: 30)
    #expect(run.begun.last == "4 = 30")
  }

  @Test func aTimerThatIsLateChangesNothingElse() {
    var run = Run()
    run.come(Self.throttle(10, .trailing), at: 0)
    run.pass(to: 17)
    #expect(run.begun == ["0 @ 17"] && run.state.end == 20)
    run.come(Self.throttle(10, .trailing), at: 18)
    run.pass(to: 45)
    #expect(run.begun == ["0 @ 17", "1 @ 45"] && run.state.end == nil)
  }

  @Test func oneThatHasEndedLeavesItsIntervalEmpty() {
    var run = Run()
    run.come(Self.throttle(10, .trailing), at: 0)
    run.state.leave(run.members[0])
    run.come(Self.throttle(10, .leading), at: 5)
    run.pass(to: 10)
    #expect(run.begun.isEmpty && run.skipped == [1] && run.state.end == nil)
    run.come(Self.throttle(10, .trailing), at: 11)
    run.come(Self.throttle(10, .trailing), at: 12)
    run.state.leave(run.members[2])
    run.pass(to: 21)
    #expect(run.begun == ["3 @ 21"], "One that was replaced leaves nothing.")
  }

  @Test func oneThatMayNotWaitChangesNothing() {
    var run = Run()
    run.come(Self.debounce(10), at: 0, mayWait: false)
    #expect(run.state.end == nil && run.begun == ["refused 0"])
    run.come(Self.throttle(10, .leading), at: 1, mayWait: false)
    run.come(Self.debounce(10), at: 2)
    run.come(Self.debounce(10), at: 3, mayWait: false)
    #expect(run.begun == ["refused 0", "1 = 1", "refused 3"])
    #expect(run.skipped.isEmpty && run.state.end == 12)
  }

  @Test func extremesStayWithinWhatCanBeRepresented() {
    var run = Run()
    run.come(Self.debounce(.max, longest: .max), at: 5)
    run.come(Self.debounce(.max), at: 6)
    #expect(run.state.end == .max && run.skipped == [0])
    var none = Run()
    none.come(Self.debounce(10, longest: -5), at: 7)
    none.come(Self.debounce(10, longest: -5), at: 7)
    #expect(none.begun == ["0 ≤ 7"])
    // An earlier time counts as the last one.
    var early = Run()
    early.come(Self.throttle(10, .leading), at: 20)
    early.come(Self.throttle(10, .leading), at: 5)
    #expect(early.skipped == [1] && early.state.end == 30)
  }

  /// Whatever the times and rules are: each begins once or is skipped once, none before its interval's end, the last one
  /// is not skipped where it may begin at a trailing edge.
  @Test(arguments: [UInt64](1...200))
  func eachBeginsOrIsSkippedOnce(_ seed: UInt64) {
    var random = seed &* 0x9E37_79B9_7F4A_7C15
    func draw(_ count: UInt64) -> Int64 {
      random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int64((random >> 33) % count)
    }
    let rule = RateRule(
      period: 1 + draw(20), edges: [.leading, .trailing, .both][Int(draw(3))],
      isExtended: draw(2) == 0, longest: nil)
    var (run, time) = (Run(), Int64(0))
    for _ in 0..<100 {
      time += draw(15)
      if draw(3) == 0 { run.pass(to: time) }
      run.come(rule, at: time)
    }
    run.pass(to: time + 1_000)
    let begun = run.begun.map { Int($0.split(separator: " ")[0])! }
    #expect((begun + run.skipped).sorted() == Array(0..<100))
    #expect(begun == begun.sorted())
    if rule.edges.isTrailing { #expect(begun.last == 99) }
    if rule.edges.isLeading { #expect(begun.first == 0) }
  }
}
