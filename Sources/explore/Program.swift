import Dispatch
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
      guard hasYieldPoints else { throw NoYieldPoints() }
      if let time = options.fuzzTime, !options.runsMutants {
        // The main queue runs what programs dispatch to it.
        Thread.detachNewThread { exit(Fuzz.run(options, for: time) ? 0 : 1) }
        dispatchMain()
      }
      exit(run(options) ? 0 : 1)
    } catch {
      try? FileHandle.standardError.write(contentsOf: Data("error: \(error)\n".utf8))
      exit(2)
    }
  }

  /// The engine was built without the points at which a simulation switches threads.
  private struct NoYieldPoints: Error, CustomStringConvertible {
    let description = """
      This release build has no yield points, so there is nothing to explore. Run
        swift run -c release --traits Simulation explore \
      \(CommandLine.arguments.dropFirst().joined(separator: " "))
      """
  }

  /// Whether no scenario failed, or no mutant survived.
  private static func run(_ options: Options) -> Bool {
    if let seed = options.traced { return trace(seed, options) }
    if let mutant = options.mutant { return Mutants.find(mutant, options) }
    return options.runsMutants ? Mutants.runAll(options) : explore(options)
  }

  private static func trace(_ seed: UInt64, _ options: Options) -> Bool {
    var isFine = true
    let scenarios = options.seed.map { [FuzzSimulated.scenario(of: $0)] } ?? options.scenarios
    for scenario in scenarios {
      let report = options.simulation(seed).runHere(
        mutant: options.mutant, scenario.body)
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
      let progress = ExplorationProgress(scenario.name, of: Int(clamping: options.seeds))
      let search = SeedSearch(options.firstSeed..<options.firstSeed + options.seeds)
      let failure = Explorer(options.simulation(), scenario.body).explore(search) {
        progress.show($0)
      }
      let (name, seconds) = (column(scenario.name, 20), Self.seconds(since: began))
      if let failure {
        failures += 1
        say("\(name) FAILED after \(failure.runCount) seeds, \(seconds) s")
        say("\(failure)")
      } else {
        say("\(name) survived \(options.seeds) seeds, \(seconds) s")
      }
    }
    say(
      "\(options.scenarios.count - failures) of \(options.scenarios.count) scenarios survived, "
        + "\(seconds(since: start)) s")
    return failures == 0
  }

  static func column(_ text: String, _ width: Int) -> String {
    text.padding(toLength: width, withPad: " ", startingAt: 0)
  }

  static func seconds(since start: ContinuousClock.Instant) -> String {
    let tenths = Int(((.now - start) / .milliseconds(100)).rounded())
    return "\(tenths / 10).\(tenths % 10)"
  }

  /// Writes a line without buffering, also into a file.
  static func say(_ line: some CustomStringConvertible) {
    try? FileHandle.standardOutput.write(contentsOf: Data("\(line)\n".utf8))
  }
}
