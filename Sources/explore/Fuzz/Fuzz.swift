import DispatchStore
import DispatchStoreTesting

/// Runs programs that are drawn from seeds, in simulated worlds and on threads, for a time.
enum Fuzz {
  /// Whether no program failed; with a mutant, whether one did.
  static func run(_ options: Options, for time: Duration) -> Bool {
    if options.mutant != nil { return finds(options, for: time) }
    Program.say("from seed \(first(options)) on")
    return runSimulated(options, for: time / 2) && runOnThreads(options, for: time / 2)
  }

  private static func first(_ options: Options) -> UInt64 { options.seed ?? options.firstSeed }

  private static func runSimulated(_ options: Options, for time: Duration) -> Bool {
    let fuzz = FuzzSimulated(options: options)
    let program = options.seed.map(FuzzDraw.program)
    let failure = fuzz.run(program, from: first(options), until: .now + time)
    Program.say(fuzz.totals.line)
    if let failure { fuzz.report(failure, of: program) }
    return failure == nil
  }

  private static func runOnThreads(_ options: Options, for time: Duration) -> Bool {
    let fuzz = FuzzThreads(from: first(options), only: options.seed)
    let failure = fuzz.run(until: .now + time)
    Program.say(fuzz.totals.line)
    guard let failure else { return true }
    Program.say("Seed \(failure.program.seed) fails on threads: \(failure.text)")
    Program.say(FuzzText.of(failure.program))
    // A schedule that repeats it is worth more than the one that threads met.
    let simulated = FuzzSimulated(options: options)
    if let found = simulated.run(failure.program, from: 0, until: .now + .seconds(20)) {
      Program.say("It fails in the simulation, too.")
      simulated.report(found, of: failure.program)
    }
    return false
  }

  /// Whether a planted bug is found in the simulation.
  private static func finds(_ options: Options, for time: Duration) -> Bool {
    let began = ContinuousClock.now
    let fuzz = FuzzSimulated(options: options)
    let failure = fuzz.run(from: first(options), until: .now + time)
    let name = Program.column(options.mutant!.rawValue, 18)
    let seconds = Program.seconds(since: began)
    guard let failure else {
      Program.say("\(name) SURVIVED, \(fuzz.totals.line)")
      return false
    }
    let (count, text) = (failure.seed - first(options) + 1, "\(failure.failure)".prefix(100))
    Program.say("\(name) caught after \(count) programs, \(seconds) s: \(text)")
    return true
  }
}
