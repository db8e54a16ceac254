import Foundation

/// Replays the history of a repository through a dispatcher: see `Program`, and `churn --help`.
///
/// A separate thread does the work, so that the main queue is free for the mode that dispatches on it.
@main
enum Churn {
  static func main() {
    Interruption.install()
    let program = Program(
      arguments: Array(CommandLine.arguments.dropFirst()),
      environment: ProcessInfo.processInfo.environment,
      directory: FileManager.default.currentDirectoryPath,
      temporaryDirectory: NSTemporaryDirectory(),
      output: StandardOutput.output, messages: StandardOutput.error,
      stop: Interruption.stop)
    Thread.detachNewThread { exit(program.run().rawValue) }
    dispatchMain()
  }
}
