import Foundation

/// A process of the service, as the driver sees it.
final class ServiceProcess {
  enum Event {
    case line(String)
    case timeout
    /// The process has ended, and all of its lines were read.
    case end
  }

  /// What the driver has done to it.
  enum State {
    case running
    /// It stands still.
    case stopped
    /// It goes on, and is to find out that there is another owner.
    case continued
    case killed
  }

  var state = State.running
  /// Whether it stands in line.
  var isWaiting = false
  /// Whether saving has failed, and it ends what waits.
  var isLosing = false
  /// How often it has become the owner.
  var terms = 0
  private let process = Process()
  private let input = Pipe(), output = Pipe()
  private var buffer = Data()

  /// - Parameter isApart: Whether it has a numbering of processes of its own, as on another machine: nobody sees that it
  ///   has died.
  init(_ database: String, lease: Duration, declaresTick: Bool, isApart: Bool = false) throws {
    let program = CommandLine.arguments[0]
    process.executableURL = URL(filePath: isApart ? "/usr/bin/unshare" : program)
    process.arguments =
      (isApart ? ["--pid", "--mount-proc", "--fork", "--kill-child", program] : [])
      + ["serve", database, "--lease", "\(Int(lease / .milliseconds(1)))"]
      + (declaresTick ? ["--tick"] : [])
    (process.standardInput, process.standardOutput) = (input, output)
    try process.run()
  }

  func send(_ line: String) {
    // Fails once the process has died.
    try? input.fileHandleForWriting.write(contentsOf: Data("\(line)\n".utf8))
  }

  func signal(_ number: Int32) { _ = Foundation.kill(process.processIdentifier, number) }

  func kill() {
    signal(SIGKILL)
    state = .killed
  }

  private var line: String? {
    guard let end = buffer.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
    defer { buffer = Data(buffer[(end + 1)...]) }
    return String(decoding: buffer[buffer.startIndex..<end], as: UTF8.self)
  }

  /// The next event of one of several processes.
  static func event(
    of processes: [ServiceProcess], until deadline: ContinuousClock.Instant
  ) -> (ServiceProcess, Event) {
    while true {
      for process in processes { if let line = process.line { return (process, .line(line)) } }
      let left = max(0, (deadline - .now) / .milliseconds(1))
      var polled = processes.map {
        pollfd(
          fd: $0.output.fileHandleForReading.fileDescriptor, events: Int16(POLLIN), revents: 0)
      }
      if poll(&polled, nfds_t(polled.count), Int32(left.rounded(.up))) == 0 {
        return (processes[0], .timeout)
      }
      for (process, polled) in zip(processes, polled) where polled.revents != 0 {
        let data = process.output.fileHandleForReading.availableData
        if data.isEmpty { return (process, .end) }
        process.buffer += data
      }
    }
  }

  /// Waits for the end; returns the number of the signal that has ended it, or nil and the exit code.
  func end() -> (signal: Int32?, code: Int32) {
    process.waitUntilExit()
    let status = process.terminationStatus
    return process.terminationReason == .exit ? (nil, status) : (status, 0)
  }
}
