import Testing

@testable import DispatchStoreTesting

@Suite("A watch of runs")
struct RunWatchTests {
  @Test func namesRunsThatHaveNotEndedForVeryLongAndTheirCallOnce() {
    var simulation = Simulation(seed: 3)
    simulation.place = ("Bank/Tests.swift", 12)
    let watch = RunWatch(simulation.name(of: "explore"))
    let later = ContinuousClock.now + .seconds(60)
    watch.run(3) {
      watch.run(1) {
        #expect(watch.notice(at: .now) == nil)
        let notice = watch.notice(at: later) ?? ""
        let place = "explore at Bank/Tests.swift:12: "
        #expect(notice.hasPrefix(place + "no end after 20.0 seconds with seed 1 and 3. "))
        #expect(watch.notice(at: later) == nil)
      }
    }
  }

  @Test func namesNoRunThatHasEnded() {
    let watch = RunWatch("explore")
    watch.run(1) {}
    #expect(watch.notice(at: .now + .seconds(60)) == nil)
  }

  @Test func tellsOfNoProgressThatIsNotMade() {
    let progress = ExplorationProgress("explore", of: 3)
    func line(_ count: Int, after seconds: Int) -> String? {
      progress.line(for: count, at: .now + .seconds(seconds))
    }
    #expect(line(0, after: 60) == nil)
    #expect(line(2, after: 120)?.hasPrefix("2 of 3 seeds, ") == true)
    #expect(line(2, after: 180) == nil)
    #expect(line(3, after: 240) == nil)
  }

  @Test func waitsForTheEndAndTellsOfProgress() {
    var count = 0
    let value = RunWatch("explore").wait(onProgress: { count += 1 }, for: { 42 })
    #expect(value == 42 && count > 0)
  }
}
