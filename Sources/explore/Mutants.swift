import DispatchStore
import DispatchStoreTesting
import Foundation

/// Runs the scenarios against each mutant, and reports whether they catch it.
enum Mutants {
  /// Whether the scenarios caught each mutant.
  ///
  /// Each mutant runs in a separate process, since some crash.
  static func runAll(_ options: Options) -> Bool {
    let caught = Mutant.allCases.filter { run($0, options) }
    Program.say("\(caught.count) of \(Mutant.allCases.count) mutants caught")
    return caught.count == Mutant.allCases.count
  }

  private static func run(_ mutant: Mutant, _ options: Options) -> Bool {
    let process = Process()
    process.executableURL = Bundle.main.executableURL
    process.arguments =
      [
        "--mutant", mutant.rawValue, "--seeds", "\(options.seeds)", "--from",
        "\(options.firstSeed)", "--workers", "\(options.workers)",
      ] + options.scenarios.flatMap { ["--scenario", $0.name] }
    process.environment = ProcessInfo.processInfo.environment.merging(
      ["SWIFT_BACKTRACE": "enable=no"]) { $1 }
    let errors = Pipe()
    process.standardError = errors
    do {
      try process.run()
    } catch {
      Program.say("\(name(mutant)) could not be run: \(error)")
      return false
    }
    let printed = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    guard process.terminationReason == .uncaughtSignal else {
      return process.terminationStatus == 0
    }
    let seed = printed.split(separator: "\n").last { $0.hasPrefix("It crashed") }
    Program.say("\(name(mutant)) caught by a crash: \(seed ?? "the seed is unknown")")
    return true
  }

  /// Whether the scenarios catch a mutant.
  ///
  /// Each pass over the scenarios runs ten times as many seeds as the one before, so that a scenario that
  /// needs few seeds is not kept waiting by those that need many.
  static func find(_ mutant: Mutant, _ options: Options) -> Bool {
    let began = ContinuousClock.now
    var range = options.firstSeed..<options.firstSeed + min(100, options.seeds)
    var runCount = 0
    while !range.isEmpty {
      for scenario in options.scenarios {
        var explorer = Program.explorer(scenario, options)
        explorer.mutant = mutant
        if let failure = explorer.explore(range) {
          Program.say(
            "\(name(mutant)) caught after \(runCount + failure.runCount) seeds, "
              + "\(Program.seconds(since: began)) s, by \(scenario.name), seed \(failure.seed): "
              + "\(failure.failure.kind.rawValue)")
          return true
        }
        runCount += range.count
      }
      let end = options.firstSeed + min((range.upperBound - options.firstSeed) * 10, options.seeds)
      range = range.upperBound..<end
    }
    Program.say("\(name(mutant)) SURVIVED \(runCount) seeds, \(Program.seconds(since: began)) s")
    return false
  }

  private static func name(_ mutant: Mutant) -> String {
    Program.column(mutant.rawValue, 18)
  }
}
