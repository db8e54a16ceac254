import DispatchStore
import DispatchStoreTesting

/// Runs programs in simulated worlds: the seed draws the program and the schedule.
struct FuzzSimulated {
  let options: Options
  let totals = FuzzTotals("simulated")
  private static let seedsAtOnce: UInt64 = 200

  /// Runs until a program fails, or the time is over.
  ///
  /// - Parameter program: The program of all seeds, which draw the schedule alone; nil to draw it as well.
  func run(
    _ program: FuzzProgram? = nil, from first: UInt64, until end: ContinuousClock.Instant
  ) -> ExplorationFailure? {
    var next = first
    while .now < end {
      let seeds = next..<next + Self.seedsAtOnce
      if let failure = failure(of: program, seeds) { return failure }
      next = seeds.upperBound
    }
    return nil
  }

  /// A drawn program as a scenario, to be traced.
  static func scenario(of seed: UInt64) -> Scenario {
    Scenario(name: "program-\(seed)", summary: "a drawn program") { _, simulation in
      let program = FuzzDraw.program(seed: seed)
      let outcome = try await FuzzRun.run(program, on: SimulatedHost(control: simulation))
      if let fault = outcome.fault { throw Broken(description: fault) }
    }
  }

  /// Prints a failure, and the smallest program that was found to fail like that.
  func report(_ failure: ExplorationFailure, of program: FuzzProgram? = nil) {
    let program = program ?? FuzzDraw.program(seed: failure.seed)
    Program.say("Seed \(failure.seed) fails: \(failure.failure)\n\(FuzzText.of(program))")
    let kind = Self.kind(failure)
    let seeds = failure.seed..<failure.seed + Self.seedsAtOnce
    let smallest = FuzzShrinking.shrink(program, for: .seconds(60)) { candidate in
      self.failure(of: candidate, seeds).map(Self.kind) == kind
    }
    Program.say("The smallest program found that fails like that:\n\(FuzzText.of(smallest))")
    if let found = self.failure(of: smallest, seeds, shortening: 300) { Program.say(found) }
  }

  /// The text of a failure without its numbers.
  private static func kind(_ failure: ExplorationFailure) -> String {
    String("\(failure.failure)".filter { !$0.isNumber }.prefix(40))
  }

  /// - Parameter limit: How many runs may be spent on a short schedule.
  private func failure(
    of program: FuzzProgram?, _ seeds: Range<UInt64>, shortening limit: Int = 0
  ) -> ExplorationFailure? {
    let totals = totals
    var explorer = Explorer(options.simulation(), mutant: options.mutant) { dispatcher in
      let control = dispatcher.simulation!
      let drawn = program ?? FuzzDraw.program(seed: control.seed)
      let outcome = try await FuzzRun.run(drawn, on: SimulatedHost(control: control))
      if program == nil { totals.add(outcome) }
      if let fault = outcome.fault { throw Broken(description: fault) }
    }
    explorer.shorteningLimit = limit
    return explorer.explore(SeedSearch(seeds))
  }
}
