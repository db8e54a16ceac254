import BenchmarkSupport
import Dispatch
import Foundation

/// Measures on a separate thread, so that the main queue is served for `.mainThread`.
@main
enum Program {
  static func main() {
    do throws(UsageError) {
      let options = try Options(Array(CommandLine.arguments.dropFirst()))
      if options.showsHelp {
        print(Options.help)
        return
      }
      let rows = Row.all.filter(options.include)
      if rows.isEmpty { throw UsageError("no path contains '\(options.filter ?? "")'") }
      Thread { exit(measure(rows, options)) }.start()
    } catch {
      complain("\(error.message); see 'ratios --help'")
      exit(64)
    }
    dispatchMain()
  }

  /// Returns the exit code.
  private static func measure(_ rows: [Row], _ options: Options) -> Int32 {
    let table = Table(rows)
    table.printHeader()
    var findings: [Finding] = []
    for (index, row) in rows.enumerated() {
      note("\(index + 1)/\(rows.count) \(row.path)")
      let finding = Finding(row, row.measure(options.rounds))
      note("")
      table.print(finding)
      findings.append(finding)
    }
    table.printSummary(findings)
    return findings.allSatisfy(\.met) ? 0 : 1
  }

  private static func complain(_ message: String) {
    FileHandle.standardError.write(Data("ratios: \(message)\n".utf8))
  }

  /// Shows what is being measured, on a terminal only: the line is written over.
  private static func note(_ message: String) {
    guard isatty(STDERR_FILENO) == 1 else { return }
    FileHandle.standardError.write(Data("\r\u{1B}[K\(message)".utf8))
  }
}
