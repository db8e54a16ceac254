import BenchmarkSupport
import Foundation

/// Runs each case in a separate process: a limit with its count, and with ten times fewer; or what comes and goes.
@main
enum Program {
  static func main() async throws {
    let arguments = Array(CommandLine.arguments.dropFirst())
    if arguments.first == "resident" {
      return try resident(Array(arguments.dropFirst()))
    }
    if arguments.first == "overflow" {
      return try await overflow(Array(arguments.dropFirst()))
    }
    if arguments.count == 2, let limit = Limit(rawValue: arguments[0]),
      let count = Int(arguments[1])
    {
      return await measure(limit, count)
    }
    guard arguments.isEmpty else {
      throw UsageError("usage: limits [resident | overflow [SECONDS]]; see Benchmarks/README.md")
    }
    print("case".padded(to: 42), "count", "seconds", "peak MB", separator: "\t")
    for limit in Limit.allCases {
      for count in [limit.count / 10, limit.count] {
        print(
          limit.title.padded(to: 42), count, try run([limit.rawValue, "\(count)"]), separator: "\t")
      }
    }
  }

  /// Prints seconds, and how much the process has grown at most.
  private static func measure(_ limit: Limit, _ count: Int) async {
    let before = peakMegabytes
    let seconds = await ContinuousClock().measure { await limit.run(count) } / .seconds(1)
    print(String(format: "%.3f\t%.1f", seconds, peakMegabytes - before))
  }

  /// Prints the resident size while things come and go.
  private static func resident(_ arguments: [String]) throws {
    if arguments.count == 1, let subject = ComingAndGoing(rawValue: arguments[0]) {
      var sizes: [String] = []
      subject.run { sizes.append(String(format: "%.1f", megabytes("VmRSS:"))) }
      return print(sizes.joined(separator: "\t"))
    }
    if arguments.count == 1, let link = Link(rawValue: arguments[0]) {
      var sizes: [String] = []
      link.run([100_000, 400_000, 500_000]) {
        sizes.append(String(format: "%.1f", megabytes("VmRSS:")))
      }
      return print(sizes.joined(separator: "\t"))
    }
    guard arguments.isEmpty else { throw UsageError("usage: limits [resident]") }
    print("resident MB after".padded(to: 50), "10 %", "50 %", "100 %", separator: "\t")
    for subject in ComingAndGoing.allCases {
      print(subject.title.padded(to: 50), try run(["resident", subject.rawValue]), separator: "\t")
    }
    for link in Link.allCases {
      let title = "1,000,000 dispatches, the next one made by \(link.title)"
      print(title.padded(to: 50), try run(["resident", link.rawValue]), separator: "\t")
    }
  }

  /// Prints the growth under each overflow policy, with a slow consumer and with one that stands still.
  private static func overflow(_ arguments: [String]) async throws {
    if arguments.count == 3, let policy = Overflow(rawValue: arguments[0]),
      let seconds = Double(arguments[1])
    {
      let isStalled = arguments[2] == "stalled"
      let figures = await policy.run(seconds: seconds, isStalled: isStalled) { megabytes("VmRSS:") }
      let sizes = figures.sizes.map { String(format: "%.1f", $0) }
      let line = ["\(figures.produced)", "\(figures.consumed)"] + sizes
      return print(line.joined(separator: "\t"))
    }
    guard arguments.count <= 1, let seconds = Double(arguments.first ?? "60"), seconds > 0 else {
      throw UsageError("usage: limits overflow [SECONDS]")
    }
    for consumer in ["slow", "stalled"] {
      print(
        "above a limit of 1,000, \(consumer) consumer".padded(to: 50), "produced", "consumed",
        "MB after 10 %", "50 %", "100 %", separator: "\t")
      for policy in Overflow.allCases {
        let line = try run(["overflow", policy.rawValue, "\(seconds)", consumer])
        print(policy.title.padded(to: 50), line, separator: "\t")
      }
    }
  }

  private static func run(_ arguments: [String]) throws -> String {
    let (process, output) = (Process(), Pipe())
    process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
    process.arguments = arguments
    process.standardOutput = output
    try process.run()
    let printed = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return String(decoding: printed, as: UTF8.self).trimmingCharacters(in: .newlines)
  }

  /// The largest resident size so far.
  private static var peakMegabytes: Double { megabytes("VmHWM:") }

  /// A size that Linux reports of the process.
  private static func megabytes(_ key: String) -> Double {
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix(key) }
    return (line?.split(separator: " ").dropFirst().first).flatMap { Double($0) }.map { $0 / 1_024 }
      ?? 0
  }
}

extension String {
  fileprivate func padded(to width: Int) -> String {
    padding(toLength: max(width, count), withPad: " ", startingAt: 0)
  }
}
