import BenchmarkSupport

/// The options of the command line.
struct Options: Sendable, Equatable {
  static let help = """
    usage: ratios [--filter TEXT] [--rounds N]

    Measures what a dispatch costs against what it can't be cheaper than, in the same run, and prints a
    line for each path: the median of all rounds, its quartiles, and whether it is within its bound.
    The last line says how many are. Exit code: 0 if all are, 1 if one is not, 64 for a wrong option.

      --filter TEXT  only the paths that contain TEXT, in either case
      --rounds N     rounds for each path, 1 to 1000; 15 by default
      --help         print this
    """

  var filter: String?
  var rounds = 15
  var showsHelp = false

  /// Reads the arguments, the program's own name not among them.
  init(_ arguments: [String]) throws(UsageError) {
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let attached = parts.count > 1 ? String(parts[1]) : nil
      switch String(parts[0]) {
      case "--filter": filter = try Self.value(of: "--filter", attached, &rest)
      case "--rounds": rounds = try Self.rounds(Self.value(of: "--rounds", attached, &rest))
      case "--help" where attached == nil: showsHelp = true
      default: throw UsageError("unknown option '\(argument)'")
      }
    }
  }

  /// Whether a row is to be measured.
  func include(_ row: Row) -> Bool {
    guard let filter else { return true }
    return row.path.lowercased().contains(filter.lowercased())
  }

  private static func value(
    of name: String, _ attached: String?, _ rest: inout ArraySlice<String>
  ) throws(UsageError) -> String {
    guard let value = attached ?? rest.popFirst(), !value.isEmpty else {
      throw UsageError("'\(name)' needs a value")
    }
    return value
  }

  private static func rounds(_ text: String) throws(UsageError) -> Int {
    guard let rounds = Int(text), (1...1000).contains(rounds) else {
      throw UsageError("'--rounds' needs a whole number from 1 to 1000, not '\(text)'")
    }
    return rounds
  }
}
