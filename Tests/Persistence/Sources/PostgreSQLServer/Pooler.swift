import Foundation

/// Debian's pgbouncer in transaction mode, between programs and a server.
///
/// Its clients share two connections, which it replaces every second: nothing stays in a session.
public final class Pooler {
  private static let program = "/usr/sbin/pgbouncer"

  /// Whether the machine has the program.
  public static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: program) }

  /// The port at which it listens on this machine.
  public let port = freePort()
  private let folder: String

  /// Starts a pooler before a server.
  public init(to server: Int, in folder: String) throws {
    self.folder = folder
    try makeServerFolder(folder)
    try lead(to: server)
  }

  private var pidFile: String { "\(folder)/pid" }

  /// Begins anew before a server; clients and servers lose their connections.
  public func lead(to server: Int) throws {
    stop()
    // Clients log in as anybody, and the server sees one user.
    let settings = """
      [databases]
      * = host=127.0.0.1 port=\(server) user=shop
      [pgbouncer]
      listen_addr = 127.0.0.1
      listen_port = \(port)
      unix_socket_dir =
      auth_type = any
      pool_mode = transaction
      default_pool_size = 2
      server_lifetime = 1
      server_login_retry = 1
      pidfile = \(pidFile)
      logfile = \(folder)/log
      """
    try settings.write(toFile: "\(folder)/settings.ini", atomically: true, encoding: .utf8)
    try runAsServer(Self.program, ["-q", "-d", "\(folder)/settings.ini"])
    // It listens some time after it has left its parent.
    let isReady = try PostgreSQLServer.program("pg_isready")
    while (try? run(isReady, "-q", "-h", "127.0.0.1", "-p", "\(port)")) == nil {}
  }

  /// Ends the pooler at once.
  public func stop() {
    guard let text = try? String(contentsOfFile: pidFile, encoding: .utf8),
      let process = pid_t(text.trimmingCharacters(in: .whitespacesAndNewlines))
    else { return }
    kill(process, SIGKILL)
    // Not a child of this process, since it has detached itself.
    while kill(process, 0) == 0 { usleep(1_000) }
    unlink(pidFile)
  }
}
