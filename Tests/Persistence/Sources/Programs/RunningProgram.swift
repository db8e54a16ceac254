public import Foundation

/// A program that was started, and what it prints, line by line.
open class RunningProgram {
  /// The process.
  public let process = Process()
  private let input = Pipe(), output = Pipe()
  private var buffer = Data()

  /// Starts a program.
  ///
  /// - Parameter folder: The folder in which it runs; nil for that of this program.
  public init(_ path: String, _ arguments: [String], in folder: String? = nil) throws {
    process.executableURL = URL(filePath: path)
    process.arguments = arguments
    if let folder { process.currentDirectoryURL = URL(filePath: folder) }
    (process.standardInput, process.standardOutput) = (input, output)
    try process.run()
  }

  /// Sends a line; fails once the process has died.
  public func send(_ line: String) {
    try? input.fileHandleForWriting.write(contentsOf: Data("\(line)\n".utf8))
  }

  /// Says that no line follows.
  public func endInput() throws { try input.fileHandleForWriting.close() }

  /// Sends a signal.
  public func signal(_ number: Int32) { _ = kill(process.processIdentifier, number) }

  // MARK: Lines

  /// What can be polled for further output.
  public var descriptor: Int32 { output.fileHandleForReading.fileDescriptor }

  /// Reads further output, and waits for it; returns false if there is none.
  public func read() -> Bool {
    let data = output.fileHandleForReading.availableData
    buffer += data
    return !data.isEmpty
  }

  /// Takes the next line that was read; nil if there is no whole one.
  public func lineRead() -> String? {
    guard let end = buffer.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
    defer { buffer = Data(buffer[(end + 1)...]) }
    return String(decoding: buffer[..<end], as: UTF8.self)
  }

  /// Waits for the next line; nil once the program has ended.
  open func line() -> String? {
    while true {
      if let line = lineRead() { return line }
      if !read() { return nil }
    }
  }

  /// Waits for so many lines, or for the end.
  public func lines(_ count: Int = .max) -> [String] {
    var lines: [String] = []
    while lines.count < count, let line = line() { lines.append(line) }
    return lines
  }

  /// Waits for the end; returns the number of the signal that has ended it, or nil and the exit code.
  public func end() -> (signal: Int32?, code: Int32) {
    process.waitUntilExit()
    let status = process.terminationStatus
    return process.terminationReason == .exit ? (nil, status) : (status, 0)
  }
}
