import BenchmarkSupport
import Foundation

/// Runs each case with its count, and with ten times fewer, in processes of their own.
@main
enum Program {
  static func main() async throws {
    let arguments = Array(CommandLine.arguments.dropFirst())
    if arguments.count == 2, let limit = Limit(rawValue: arguments[0]),
      let count = Int(arguments[1])
    {
      return await measure(limit, count)
    }
    guard arguments.isEmpty else {
      throw UsageError("usage: limits (no arguments): see Benchmarks/README.md")
    }
    print("case".padded(to: 42), "count", "seconds", "peak MB", separator: "\t")
    for limit in Limit.allCases {
      for count in [limit.count / 10, limit.count] {
        print(limit.title.padded(to: 42), count, try run(limit, count), separator: "\t")
      }
    }
  }

  /// Prints seconds, and how much the process has grown at most.
  private static func measure(_ limit: Limit, _ count: Int) async {
    let before = peakMegabytes
    let seconds = await ContinuousClock().measure { await limit.run(count) } / .seconds(1)
    print(String(format: "%.3f\t%.1f", seconds, peakMegabytes - before))
  }

  private static func run(_ limit: Limit, _ count: Int) throws -> String {
    let (process, output) = (Process(), Pipe())
    process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
    process.arguments = [limit.rawValue, "\(count)"]
    process.standardOutput = output
    try process.run()
    let printed = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return String(decoding: printed, as: UTF8.self).trimmingCharacters(in: .newlines)
  }

  /// The largest resident size so far; on Linux.
  private static var peakMegabytes: Double {
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
    return (line?.split(separator: " ").dropFirst().first).flatMap { Double($0) }.map { $0 / 1_024 }
      ?? 0
  }
}

extension String {
  fileprivate func padded(to width: Int) -> String {
    padding(toLength: max(width, count), withPad: " ", startingAt: 0)
  }
}
