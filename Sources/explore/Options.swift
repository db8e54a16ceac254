import DispatchStore
import DispatchStoreTesting

/// The options of the command line.
struct Options {
  var seeds: UInt64 = 10_000
  var firstSeed: UInt64 = 0
  var scenarios = Scenario.all
  var traced: UInt64?
  var runsMutants = false
  var mutant: Mutant?
  /// Whether threads switch before each lock, too.
  var switchesAtLocks = false
  /// How long to run drawn programs; nil to run the scenarios.
  var fuzzTime: Duration?
  /// The one drawn program to run.
  var seed: UInt64?

  struct Fault: Error, CustomStringConvertible {
    let description: String
  }

  static let usage = """
    Usage: explore [options]

    Runs programs against the engine in orders that are drawn from seeds. A release build needs the
    package's trait: swift run -c release --traits Simulation explore [options]

      --seeds N          how many seeds for each scenario; 10000 unless given
      --from N           the first seed; 0 unless given
      --scenario NAME    this scenario alone; may be repeated
      --locks            switches threads before each lock, too: ten times as many steps
      --trace SEED       prints what happens with one seed
      --mutants          plants bugs in the engine, and says after how many seeds each is found
      --mutant NAME      plants this one alone
      --help             this text

      --fuzz SECONDS     runs programs that are drawn, too, in place of the scenarios: half of the time in
                         simulations, and half on threads; with --from, --mutant, --mutants
      --seed N           the program of this seed alone, in many orders; with --trace, in that order

    Scenarios:
    \(Scenario.all.map { "  " + Program.column($0.name, 22) + $0.summary }
      .joined(separator: "\n"))

    Exit code: 0 where no scenario failed and no mutant survived, 1 where a scenario failed or a mutant survived, 2 for
    options that don't exist and for a release build without the trait.
    """

  /// Nil for `--help`.
  init?(_ arguments: [String]) throws {
    var left = arguments[...]
    var names: [String] = []
    while let option = left.popFirst() {
      switch option {
      case "--help", "-h": return nil
      case "--seeds": seeds = try Self.number(option, &left)
      case "--from": firstSeed = try Self.number(option, &left)
      case "--trace": traced = try Self.number(option, &left)
      case "--scenario": names.append(try Self.value(option, &left))
      case "--locks": switchesAtLocks = true
      case "--fuzz": fuzzTime = .seconds(Int64(clamping: try Self.number(option, &left)))
      case "--seed": seed = try Self.number(option, &left)
      case "--mutants": runsMutants = true
      case "--mutant": mutant = try Self.mutant(Self.value(option, &left))
      default: throw Fault(description: "There is no option \(option).")
      }
    }
    guard seeds > 0 else { throw Fault(description: "--seeds has to be 1 or more.") }
    guard !firstSeed.addingReportingOverflow(seeds).overflow else {
      throw Fault(description: "There are no \(seeds) seeds from \(firstSeed) on.")
    }
    if !names.isEmpty { scenarios = try names.map(Self.scenario) }
  }

  /// The simulation of a seed.
  func simulation(_ seed: UInt64 = 0) -> Simulation {
    var simulation = Simulation(seed: seed)
    if switchesAtLocks { (simulation.switchesAtLocks, simulation.stepLimit) = (true, 1_000_000) }
    return simulation
  }

  private static func value(_ option: String, _ left: inout ArraySlice<String>) throws -> String {
    guard let value = left.popFirst() else {
      throw Fault(description: "\(option) needs a value.")
    }
    return value
  }

  private static func number(_ option: String, _ left: inout ArraySlice<String>) throws -> UInt64 {
    let text = try value(option, &left)
    guard let number = UInt64(text) else {
      throw Fault(description: "\(option) needs a number, not \"\(text)\".")
    }
    return number
  }

  private static func mutant(_ name: String) throws -> Mutant {
    guard let mutant = Mutant(rawValue: name) else {
      let names = Mutant.allCases.map(\.rawValue).joined(separator: ", ")
      throw Fault(description: "There is no mutant \"\(name)\"; there are \(names).")
    }
    return mutant
  }

  private static func scenario(_ name: String) throws -> Scenario {
    guard let scenario = Scenario.all.first(where: { $0.name == name }) else {
      let names = Scenario.all.map(\.name).joined(separator: ", ")
      throw Fault(description: "There is no scenario \"\(name)\"; there are \(names).")
    }
    return scenario
  }
}
