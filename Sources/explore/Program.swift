import DispatchStore
import DispatchStoreTesting
import Foundation

/// Explores the engine in orders that are drawn from seeds.
@main
enum Program {
  static func main() {
    do {
      guard let options = try Options(Array(CommandLine.arguments.dropFirst())) else {
        say(Options.usage)
        return
      }
      exit(run(options) ? 0 : 1)
    } catch {
      try? FileHandle.standardError.write(contentsOf: Data("error: \(error)\n".utf8))
      exit(2)
    }
  }

  /// Whether all is as it should be.
  private static func run(_ options: Options) -> Bool {
    if let seed = options.traced { return trace(seed, options) }
    return options.runsMutants ? runMutants(options) : explore(options)
  }

  private static func trace(_ seed: UInt64, _ options: Options) -> Bool {
    var isFine = true
    for scenario in options.scenarios {
      let report = Simulation(seed: seed, order: options.order).runHere(scenario.body)
      say("\(scenario.name), seed \(seed), \(report.stepCount) steps")
      say(report.trace)
      if let failure = report.failure {
        say("failed: \(failure)")
        isFine = false
      }
    }
    return isFine
  }

  private static func explore(_ options: Options) -> Bool {
    var failures = 0
    let start = ContinuousClock.now
    for scenario in options.scenarios {
      let began = ContinuousClock.now
      let failure = explorer(scenario, options).explore(seeds(options), onProgress: progress(scenario, options))
      let seconds = Self.seconds(since: began)
      if let failure {
        failures += 1
        say("\(name(scenario)) FAILED after \(failure.runCount) seeds, \(seconds) s")
        say("\(failure)")
      } else {
        say("\(name(scenario)) survived \(options.seeds) seeds, \(seconds) s")
      }
    }
    say(
      "\(options.scenarios.count - failures) of \(options.scenarios.count) scenarios survived, "
        + "\(seconds(since: start)) s")
    return failures == 0
  }

  private static func runMutants(_ options: Options) -> Bool {
    var survivors = 0
    for mutant in Mutant.allCases {
      let began = ContinuousClock.now
      let found = find(mutant, options)
      let name = mutant.rawValue.padding(toLength: 20, withPad: " ", startingAt: 0)
      if let (scenario, failure) = found {
        say(
          "\(name) caught by \(scenario.name) with seed \(failure.seed), \(seconds(since: began)) s: "
            + "\(failure.failure.kind.rawValue), \(failure.trace.steps.count) steps")
      } else {
        survivors += 1
        say("\(name) SURVIVED \(options.seeds) seeds of each scenario, \(seconds(since: began)) s")
      }
    }
    say("\(Mutant.allCases.count - survivors) of \(Mutant.allCases.count) mutants caught")
    return survivors == 0
  }

  /// The seeds go up by a factor of ten, so that what is found soon is found soon in each scenario.
  private static func find(
    _ mutant: Mutant, _ options: Options
  ) -> (Scenario, ExplorationFailure)? {
    var range = options.firstSeed..<options.firstSeed + min(100, options.seeds)
    while !range.isEmpty {
      for scenario in options.scenarios {
        var explorer = explorer(scenario, options)
        explorer.mutant = mutant
        if let failure = explorer.explore(range) { return (scenario, failure) }
      }
      let end = options.firstSeed + min((range.upperBound - options.firstSeed) * 10, options.seeds)
      range = range.upperBound..<end
    }
    return nil
  }

  private static func explorer(_ scenario: Scenario, _ options: Options) -> Explorer {
    var explorer = Explorer(Simulation(seed: 0, order: options.order), scenario.body)
    explorer.workerCount = options.workers
    return explorer
  }

  private static func seeds(_ options: Options) -> Range<UInt64> {
    options.firstSeed..<options.firstSeed + options.seeds
  }

  private static func progress(
    _ scenario: Scenario, _ options: Options
  ) -> @Sendable (Int) -> Void {
    let progress = ExplorationProgress(scenario.name, of: Int(options.seeds))
    return { progress.show($0) }
  }

  private static func name(_ scenario: Scenario) -> String {
    scenario.name.padding(toLength: 16, withPad: " ", startingAt: 0)
  }

  private static func seconds(since start: ContinuousClock.Instant) -> String {
    let tenths = Int(((.now - start) / .milliseconds(100)).rounded())
    return "\(tenths / 10).\(tenths % 10)"
  }

  /// Each line as soon as it is known, also into a file.
  private static func say(_ line: some CustomStringConvertible) {
    try? FileHandle.standardOutput.write(contentsOf: Data("\(line)\n".utf8))
  }
}
