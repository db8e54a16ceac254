import Foundation

/// A run of git.
///
/// Git writes its messages to a temporary file, so that one thread need not read two pipes at once.
final class GitProcess {
  private let process = Process()
  private let output = Pipe()
  private let messages: Descriptor

  init(executable: String, arguments: [String], environment: [String: String]) throws(GitError) {
    do {
      messages = try Descriptor.temporary(in: NSTemporaryDirectory())
    } catch {
      throw GitError(ending: .notStarted, message: "no temporary file for its messages: \(error)")
    }
    do {
      process.executableURL = URL(fileURLWithPath: executable)
      process.arguments = arguments
      process.environment = environment
      process.standardInput = FileHandle.nullDevice
      process.standardOutput = output
      process.standardError = FileHandle(fileDescriptor: messages.number, closeOnDealloc: false)
      try process.run()
    } catch {
      throw GitError(ending: .notStarted, message: "\(executable): \(error)")
    }
    Interruption.watch(process.processIdentifier)
  }

  /// Reads git's output, up to the buffer's length.
  ///
  /// Zero means the end.
  func read(into buffer: inout [UInt8]) throws(GitError) -> Int {
    let descriptor = Descriptor(output.fileHandleForReading.fileDescriptor, isOwned: false)
    do {
      return try descriptor.read(into: &buffer)
    } catch {
      stop()
      throw GitError(ending: .notStarted, message: "its output cannot be read: \(error)")
    }
  }

  /// Waits for the end, and throws git's message if it failed.
  func waitForSuccess() throws(GitError) {
    wait()
    let status = process.terminationStatus
    if process.terminationReason == .uncaughtSignal {
      throw GitError(ending: .signal(status), message: message)
    }
    guard status == 0 else {
      throw GitError(ending: .exitCode(status), message: message)
    }
  }

  /// Ends git early, when no more is to be read.
  func stop() {
    if process.isRunning { process.terminate() }
    wait()
  }

  private func wait() {
    process.waitUntilExit()
    Interruption.unwatch(process.processIdentifier)
  }

  private var message: String {
    var buffer = [UInt8](repeating: 0, count: 1 << 12)
    let count = (try? messages.read(into: &buffer, at: 0)) ?? 0
    return String(decoding: buffer[..<count], as: UTF8.self)
      .split(whereSeparator: \.isNewline).joined(separator: "; ")
  }
}
