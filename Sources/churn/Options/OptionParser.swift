/// Reads the command line.
///
/// Its errors name the wrong argument.
struct OptionParser {
  private var rest: ArraySlice<String>
  private var options = Options()
  /// The options that were given.
  private var names: Set<String> = []

  /// Reads `arguments`, the program's own name not among them.
  static func parse(_ arguments: [String]) throws(Failure) -> Options {
    var parser = OptionParser(rest: arguments[...])
    while let argument = parser.rest.popFirst() {
      try parser.take(argument)
    }
    if !parser.options.showsHelp { try parser.checkCombination() }
    return parser.options
  }

  private mutating func take(_ argument: String) throws(Failure) {
    guard argument.hasPrefix("--") else {
      throw usage("unexpected argument '\(argument)'")
    }
    let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let name = String(parts[0])
    let attached = parts.count > 1 ? String(parts[1]) : nil
    guard names.insert(name).inserted else { throw usage("'\(name)' is there twice") }
    switch name {
    case "--repo": try setSource(.repository(value(of: name, attached)))
    case "--input":
      let file = try value(of: name, attached)
      try setSource(file == "-" ? .standardInput : .file(file))
    case "--mode": options.modes = try modes(value(of: name, attached))
    case "--in-flight": options.inFlight = try count(of: name, attached)
    case "--producers": options.producers = try count(of: name, attached, upTo: 256)
    case "--copies": options.copies = try count(of: name, attached, upTo: 1_000_000)
    case "--limit": options.limit = try count(of: name, attached)
    case "--rounds": options.rounds = try count(of: name, attached, upTo: 1000)
    case "--json": options.printsJSON = try flag(name, attached)
    case "--follow": options.followed = try followed(value(of: name, attached))
    case "--record": options.recorded = try record(value(of: name, attached))
    case "--persist": options.persisted = try value(of: name, attached)
    case "--help": options.showsHelp = try flag(name, attached)
    default: throw usage("unknown option '\(name)'")
    }
  }

  private mutating func value(of name: String, _ attached: String?) throws(Failure) -> String {
    guard let value = attached ?? rest.popFirst(), !value.isEmpty else {
      throw usage("'\(name)' needs a value")
    }
    return value
  }

  private mutating func count(
    of name: String, _ attached: String?, upTo most: Int = 1_000_000_000
  ) throws(Failure) -> Int {
    let text = try value(of: name, attached)
    guard let count = Int(text), (1...most).contains(count) else {
      throw usage("'\(name)' needs a whole number from 1 to \(most), not '\(text)'")
    }
    return count
  }

  private func flag(_ name: String, _ attached: String?) throws(Failure) -> Bool {
    guard attached == nil else { throw usage("'\(name)' takes no value") }
    return true
  }

  private mutating func setSource(_ source: Options.Source) throws(Failure) {
    guard options.source == .automatic else {
      throw usage("'--repo' and '--input' both say where the history comes from")
    }
    options.source = source
  }

  private func modes(_ name: String) throws(Failure) -> [Mode] {
    if name == "all" { return Mode.allCases }
    guard let mode = Mode(rawValue: name) else {
      let names = Mode.allCases.map(\.rawValue).joined(separator: ", ")
      throw usage("'--mode' knows \(names) and all, not '\(name)'")
    }
    return [mode]
  }

  private func followed(_ file: String) throws(Failure) -> String {
    guard file != "-" else {
      throw usage("'--follow' needs the name of a file, since standard output has the report")
    }
    return file
  }

  private func record(_ path: String) throws(Failure) -> Options.Record {
    guard let form = RecordedReplay.Form(path: path) else {
      throw usage(
        "'--record' writes a page (.html), JSON lines (.jsonl) or a trace for Perfetto (.json), as the "
          + "file's name ends, not '\(path)'")
    }
    return Options.Record(path: path, form: form)
  }

  private mutating func checkCombination() throws(Failure) {
    if options.persisted != nil { try checkPersisted() }
    if options.recorded != nil {
      if !names.contains("--mode"), options.persisted == nil { options.modes = [.lanes] }
      guard options.modes.count == 1, options.roundCount == 1 else {
        throw usage("'--record' has the log of one replay: name one mode, and leave '--rounds' out")
      }
    }
  }

  private mutating func checkPersisted() throws(Failure) {
    if !names.contains("--mode") { options.modes = [.serial] }
    // A later run goes on at one event, so all before it have been dispatched.
    guard options.modes == [.serial] || options.modes == [.sync] else {
      throw usage("'--persist' needs '--mode serial' or '--mode sync'")
    }
    if options.roundCount > 1 { throw usage("'--persist' replays once: leave '--rounds' out") }
    if options.followed != nil {
      throw usage("'--follow' has the lines of a whole replay: leave it or '--persist' out")
    }
  }

  private func usage(_ message: String) -> Failure {
    Failure(.usage, "\(message); see 'churn --help'")
  }
}
