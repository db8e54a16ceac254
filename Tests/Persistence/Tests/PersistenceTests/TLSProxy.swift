import Foundation
import Programs
import Testing

/// A program before a server that speaks TLS with clients, in larger records than the server's.
final class TLSProxy {
  /// Whether the machine has what it needs.
  static var isInstalled: Bool {
    ["python3", "openssl"].allSatisfy {
      FileManager.default.isExecutableFile(atPath: "/usr/bin/\($0)")
    }
  }

  /// The port at which it listens on this machine.
  let port: Int
  private let program: RunningProgram

  init(to server: Int, in folder: String) throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let path = root.appending(path: "Tests/Persistence/tls-proxy").path
    let program = try RunningProgram(path, [folder, "\(server)"])
    port = try #require(program.line().flatMap { Int($0) })
    self.program = program
  }

  // It has inherited a mask of signals from the thread that started it, so it gets no other one.
  deinit { program.signal(SIGKILL) }
}
