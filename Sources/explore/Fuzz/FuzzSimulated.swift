import DispatchStore
import DispatchStoreTesting

/// Runs programs in simulated worlds: the seed draws the program and the schedule.
struct FuzzSimulated {
  let options: Options
  let totals = FuzzTotals("simulated")
  private static let seedsAtOnce: UInt64 = 200

  struct Failure {
    let seed: UInt64
    let text: String
    let runCount: UInt64
  }

  /// Runs until a program fails, or the time is over.
  ///
  /// - Parameter program: The program of all seeds, which draw the schedule alone; nil to draw it as well.
  func run(
    _ program: FuzzProgram? = nil, from first: UInt64, until end: ContinuousClock.Instant
  ) -> Failure? {
    var next = first
    while .now < end {
      let seeds = next..<next + Self.seedsAtOnce
      if let failure = failure(of: program, seeds) {
        return Failure(
          seed: failure.seed, text: "\(failure.failure)", runCount: failure.seed - first + 1)
      }
      next = seeds.upperBound
    }
    return nil
  }

  /// A drawn program as a scenario, to be traced.
  static func scenario(of seed: UInt64) -> Scenario {
    Scenario(name: "program-\(seed)", summary: "a drawn program") { _, simulation in
      let program = FuzzDraw.program(seed: seed)
      let outcome = try await FuzzRun.run(program, on: SimulatedHost(control: simulation))
      if let fault = outcome.faults.first { throw Broken(description: fault) }
    }
  }

  /// Prints a failure, and the smallest program that was found to fail like that.
  func report(_ failure: Failure, of program: FuzzProgram? = nil) {
    let program = program ?? FuzzDraw.program(seed: failure.seed)
    Program.say("Seed \(failure.seed) fails: \(failure.text)\n\(FuzzText.of(program))")
    let kind = Self.kind(failure.text)
    let seeds = failure.seed..<failure.seed + Self.seedsAtOnce
    let smallest = FuzzShrinking.shrink(program, for: .seconds(60)) { candidate in
      self.failure(of: candidate, seeds).map { Self.kind("\($0.failure)") } == kind
    }
    Program.say("The smallest program found that fails like that:\n\(FuzzText.of(smallest))")
    if let found = self.failure(of: smallest, seeds, shortening: 300) { Program.say(found) }
  }

  /// The text of a failure without its numbers.
  private static func kind(_ text: String) -> String {
    String(text.filter { !$0.isNumber }.prefix(40))
  }

  /// - Parameter limit: How many runs may be spent on a short schedule.
  private func failure(
    of program: FuzzProgram?, _ seeds: Range<UInt64>, shortening limit: Int = 0
  ) -> ExplorationFailure? {
    let totals = totals
    var explorer = Explorer(options.simulation(), mutant: options.mutant) {
      dispatcher in
      guard let control = dispatcher.simulation else { return }
      let drawn = program ?? FuzzDraw.program(seed: control.seed)
      let outcome = try await FuzzRun.run(drawn, on: SimulatedHost(control: control))
      if program == nil { totals.add(outcome) }
      if let fault = outcome.faults.first {
        throw Broken(description: ([fault] + outcome.faults.dropFirst()).joined(separator: "; "))
      }
    }
    explorer.shorteningLimit = limit
    return explorer.explore(seeds) { _ in totals.showProgress() }
  }
}
