import Foundation

@testable import churn

/// One run of the whole program, on a separate thread, with its output.
struct TestRun {
  let code: ExitCode
  let output: String
  let messages: String

  init(
    _ arguments: String..., directory: String = NSTemporaryDirectory(),
    path: String? = nil, temporaryDirectory: String = NSTemporaryDirectory()
  ) async {
    await self.init(
      arguments, directory: directory, path: path, temporaryDirectory: temporaryDirectory)
  }

  init(
    _ arguments: [String], directory: String = NSTemporaryDirectory(),
    path: String? = nil, temporaryDirectory: String = NSTemporaryDirectory(),
    messages: CollectedOutput = CollectedOutput(), stop: Stop = Stop()
  ) async {
    let output = CollectedOutput()
    var environment = TestRepository.environment
    environment["PATH"] = path ?? environment["PATH"]
    let program = Program(
      arguments: arguments, environment: environment, directory: directory,
      temporaryDirectory: temporaryDirectory, output: output, messages: messages, stop: stop)
    code = await onOwnThread { program.run() }
    self.output = output.text
    self.messages = messages.text
  }

  /// The JSON that was printed.
  var json: [String: Any] {
    get throws {
      let object = try JSONSerialization.jsonObject(with: Data(output.utf8))
      return object as? [String: Any] ?? [:]
    }
  }
}
