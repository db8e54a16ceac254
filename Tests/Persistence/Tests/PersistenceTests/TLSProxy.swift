import Foundation

/// A program before a server that speaks TLS with clients, in larger records than the server's.
final class TLSProxy {
  private static let program = root.appending(path: "Tests/Persistence/tls-proxy")

  /// Whether the machine has what it needs.
  static var isInstalled: Bool {
    ["python3", "openssl"].allSatisfy {
      FileManager.default.isExecutableFile(atPath: "/usr/bin/\($0)")
    }
  }

  /// The port at which it listens on this machine.
  let port: Int
  private let process = Process()

  init(to server: Int, in folder: String) throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let output = Pipe()
    process.executableURL = Self.program
    process.arguments = [folder, "\(server)"]
    process.standardOutput = output
    try process.run()
    let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
    guard let port = Int(line.trimmingCharacters(in: .whitespacesAndNewlines)) else {
      throw Failure(line: line)
    }
    self.port = port
  }

  // It has inherited a mask of signals from the thread that started it, so it gets no other one.
  deinit { kill(process.processIdentifier, SIGKILL) }

  struct Failure: Error { let line: String }
}
