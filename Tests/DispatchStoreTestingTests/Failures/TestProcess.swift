import Foundation

/// A run of this test bundle in a separate process.
struct TestProcess {
  let output: String
  let failed: Bool

  /// - Parameter isProgram: Whether it is started under a name that is not that of a test bundle.
  static func run(_ arguments: [String], isProgram: Bool = false) async throws -> TestProcess {
    let bundle = URL(fileURLWithPath: ProcessInfo.processInfo.arguments[0])
    let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    // Beside the bundle, because a hard link stays on its volume; a symbolic one would be seen through.
    let program = bundle.deletingLastPathComponent().appending(path: folder.lastPathComponent)
    try FileManager.default.linkItem(at: bundle, to: program)
    defer { try? FileManager.default.removeItem(at: program) }
    // A file rather than a pipe: a pipe could fill up while no thread reads it.
    let written = folder.appending(path: "output")
    try Data().write(to: written)
    let process = Process()
    process.executableURL = isProgram ? program : bundle
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging(
      ["DISPATCHSTORE_FAILURE_PROBE": "1"], uniquingKeysWith: { $1 })
    let file = try FileHandle(forWritingTo: written)
    process.standardOutput = file
    process.standardError = file
    try await withCheckedThrowingContinuation {
      (continuation: CheckedContinuation<Void, any Error>) in
      process.terminationHandler = { _ in continuation.resume() }
      do {
        try process.run()
      } catch {
        process.terminationHandler = nil
        continuation.resume(throwing: error)
      }
    }
    return TestProcess(
      output: try String(contentsOf: written, encoding: .utf8),
      failed: process.terminationStatus != 0)
  }
}
