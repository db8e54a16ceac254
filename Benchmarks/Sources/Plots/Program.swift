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
      Thread { exit(run(options)) }.start()
    } catch {
      complain("\(error.message); see 'plots --help'")
      exit(64)
    }
    dispatchMain()
  }

  /// Returns the exit code.
  private static func run(_ options: Options) -> Int32 {
    let page = Page(folder: options.folder)
    do throws(PageError) {
      // Checked before the measurement, which takes minutes.
      try page.check()
      let results = PlottedMode.all.map { $0.measure(options.effort) }
      let comparisons = Comparison.all.map { $0.measure(options.effort) }
      Progress.clear()
      try page.write(results, comparisons, options: options)
    } catch {
      Progress.clear()
      complain(error.message)
      return 74
    }
    return 0
  }

  private static func complain(_ message: String) {
    FileHandle.standardError.write(Data("plots: \(message)\n".utf8))
  }
}
