import Foundation

/// A run of the service, as the driver sees it.
final class ServiceProcess {
  enum Event {
    case line(String)
    case timeout
    /// The process has ended, and all of its lines were read.
    case end
  }

  private let process = Process()
  private let input = Pipe(), output = Pipe()
  private var buffer = Data()

  init(_ database: String, declaresTick: Bool) throws {
    process.executableURL = URL(filePath: CommandLine.arguments[0])
    process.arguments = ["serve", database] + (declaresTick ? ["--tick"] : [])
    (process.standardInput, process.standardOutput) = (input, output)
    try process.run()
  }

  func send(_ line: String) {
    // Fails once the process has died.
    try? input.fileHandleForWriting.write(contentsOf: Data("\(line)\n".utf8))
  }

  func kill() { _ = Foundation.kill(process.processIdentifier, SIGKILL) }

  func event(until deadline: ContinuousClock.Instant) -> Event {
    while true {
      if let end = buffer.firstIndex(of: UInt8(ascii: "\n")) {
        let line = String(decoding: buffer[buffer.startIndex..<end], as: UTF8.self)
        buffer = Data(buffer[(end + 1)...])
        return .line(line)
      }
      let left = max(0, (deadline - .now) / .milliseconds(1))
      var poll = pollfd(
        fd: output.fileHandleForReading.fileDescriptor, events: Int16(POLLIN), revents: 0)
      if Foundation.poll(&poll, 1, Int32(left.rounded(.up))) == 0 { return .timeout }
      let data = output.fileHandleForReading.availableData
      if data.isEmpty { return .end }
      buffer += data
    }
  }

  /// Waits for the end; returns the number of the signal that has ended it, or nil and the exit code.
  func end() -> (signal: Int32?, code: Int32) {
    process.waitUntilExit()
    let status = process.terminationStatus
    return process.terminationReason == .exit ? (nil, status) : (status, 0)
  }
}
