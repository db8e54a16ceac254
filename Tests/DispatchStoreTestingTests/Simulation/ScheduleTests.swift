import Testing

@testable import DispatchStoreTesting

@Suite("Schedule")
struct ScheduleTests {
  /// Draws among three threads, of which the first runs.
  private func draws(_ schedule: inout Schedule, _ count: Int = 200) -> [Int] {
    (0..<count).map { _ in
      schedule.choose(among: 3, present: 0, fallBehind: { _ in }, priority: { UInt64($0) })
    }
  }

  @Test(arguments: [SimulationOrder.uniform, .rare(preemptions: 3), .mixed])
  func theSameSeedDrawsTheSame(_ order: SimulationOrder) {
    for seed in 0..<20 {
      var first = Schedule(seed: UInt64(seed), order: order)
      var second = Schedule(seed: UInt64(seed), order: order)
      #expect(draws(&first) == draws(&second))
    }
  }

  @Test func aNegativeNumberOfPreemptionsStopsTheProgram() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = Schedule(seed: 1, order: .rare(preemptions: -1))
    }
    let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(message.contains("A simulation can't have -1 preemptions"))
  }

  @Test func recordedDeviationsAreRepeated() {
    var drawn = Schedule(seed: 7, order: .uniform)
    let choices = draws(&drawn)
    var recorded = Schedule(seed: 7, deviations: drawn.deviations)
    #expect(draws(&recorded) == choices)
    #expect(recorded.deviations == drawn.deviations)
  }

  @Test func withoutDeviationsTheThreadThatRunsContinues() {
    var schedule = Schedule(seed: 7, deviations: [])
    #expect(draws(&schedule).allSatisfy { $0 == 0 })
  }

  @Test func theThreadOfHighestPriorityRunsUntilItFallsBehind() {
    var schedule = Schedule(seed: 1, order: .rare(preemptions: 1))
    var priorities: [UInt64] = [1 << 63, 1 << 63 | 1]
    var present = 1
    var switches = 0
    for _ in 0..<2_000 {
      let choice = schedule.choose(
        among: 2, present: present, fallBehind: { priorities[present] = $0 },
        priority: { priorities[$0] })
      if choice != present { switches += 1 }
      present = choice
    }
    #expect(priorities[1] < 1 << 63)
    #expect(present == 0 || switches > 1)
  }
}

@Suite("Shortening")
struct ShorteningTests {
  @Test func keepsWhatIsNeededToFail() {
    let shortest = Shortening.shorten(Array(0..<100)) { $0.contains(17) && $0.contains(61) }
    #expect(shortest == [17, 61])
  }

  @Test func keepsNothingWhereTheEmptyListFails() {
    #expect(Shortening.shorten(Array(0..<9)) { _ in true }.isEmpty)
  }

  @Test func keepsAllWhereAllIsNeeded() {
    #expect(Shortening.shorten(Array(0..<9)) { $0.count == 9 } == Array(0..<9))
  }

  /// Each look at a list of this length copies it.
  @Test(.timeLimit(.minutes(1))) func stopsWhenItIsTold() {
    var calls = 0
    let shortest = Shortening.shorten(Array(0..<1_000_000)) { _ -> Bool? in
      calls += 1
      return calls > 10 ? nil : false
    }
    #expect(shortest.count == 1_000_000)
    #expect(calls == 11)
  }
}
