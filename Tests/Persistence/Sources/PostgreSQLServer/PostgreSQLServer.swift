public import Foundation

/// A PostgreSQL server of the tests' own, from Debian's package.
public final class PostgreSQLServer: @unchecked Sendable {
  // because all properties are constants
  /// The folder of its files.
  public let folder: String
  /// The port at which it listens on this machine.
  public let port: Int

  /// A program that has failed.
  public struct Failure: Error, CustomStringConvertible {
    /// The command, and what it has printed.
    public let description: String
  }

  /// Makes a server in a new folder; it does not run yet.
  public init(in folder: String, port: Int = freePort()) throws {
    (self.folder, self.port) = (folder, port)
    try makeServerFolder(folder)
    try asServer("initdb", "-D", data, "-U", "shop", "-A", "trust", "-E", "UTF8", "--no-sync")
  }

  /// Makes a backup of a running server, or a standby that will follow it; it does not run yet.
  public init(
    copyOf server: PostgreSQLServer, in folder: String, port: Int = freePort(), isStandby: Bool
  ) throws {
    (self.folder, self.port) = (folder, port)
    try makeServerFolder(folder)
    let source = ["-d", server.url(), "-D", data, "-c", "fast", "-X", "stream", "--no-sync"]
    try asServer("pg_basebackup", source + (isStandby ? ["-R"] : []))
  }

  private var data: String { "\(folder)/data" }

  /// The URL of a database of the server.
  public func url(_ database: String = "postgres", port: Int? = nil, user: String = "shop")
    -> String
  {
    "postgresql://\(user)@127.0.0.1:\(port ?? self.port)/\(database)"
  }

  /// Starts the server, and waits until it answers.
  ///
  /// - Parameter settings: Further settings, such as `"fsync=off"`.
  public func start(_ settings: String...) throws {
    let all = ["listen_addresses=127.0.0.1", "unix_socket_directories=\(folder)", "port=\(port)"]
    let options = (all + settings).map { "-c \($0)" }.joined(separator: " ")
    try asServer("pg_ctl", "-D", data, "-l", "\(folder)/log", "-o", options, "-w", "start")
  }

  /// Makes an empty file among the server's data.
  public func touch(_ name: String) throws {
    _ = FileManager.default.createFile(atPath: "\(data)/\(name)", contents: nil)
    if getuid() == 0 { try run("/bin/chown", "postgres:", "\(data)/\(name)") }
  }

  /// Stops the server: `fast`, or `immediate` as in a crash.
  public func stop(_ mode: String = "fast") throws {
    try asServer("pg_ctl", "-D", data, "-m", mode, "-w", "stop")
  }

  /// Runs statements as another program; returns what `psql` prints.
  @discardableResult
  public func psql(_ sql: String, in database: String = "postgres") throws -> String {
    try run(
      try Self.program("psql"), "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", sql,
      url(database))
  }

  /// Runs one of PostgreSQL's programs as the server's user; returns what it prints.
  @discardableResult
  public func asServer(_ name: String, _ arguments: String...) throws -> String {
    try asServer(name, arguments)
  }

  @discardableResult
  private func asServer(_ name: String, _ arguments: [String]) throws -> String {
    try runAsServer(try Self.program(name), arguments)
  }

  static func program(_ name: String) throws -> String {
    let files = FileManager.default
    let versions = (try? files.contentsOfDirectory(atPath: "/usr/lib/postgresql")) ?? []
    let folders = versions.sorted().map { "/usr/lib/postgresql/\($0)/bin" } + ["/usr/bin"]
    let paths = folders.reversed().map { "\($0)/\(name)" }
    guard let path = paths.first(where: { files.isExecutableFile(atPath: $0) }) else {
      throw Failure(description: "PostgreSQL's \(name) is not there: apt-get install postgresql")
    }
    return path
  }
}

/// A port of this machine that nobody uses.
public func freePort() -> Int {
  let (descriptor, port) = boundSocket()
  close(descriptor)
  return port
}

/// The address of a port of this machine.
public func localAddress(_ port: Int) -> sockaddr_in {
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_addr.s_addr = inet_addr("127.0.0.1")
  address.sin_port = UInt16(port).bigEndian
  return address
}

/// Makes a socket at a port of this machine that nobody uses.
public func boundSocket() -> (descriptor: Int32, port: Int) {
  let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
  var (address, length) = (localAddress(0), socklen_t(MemoryLayout<sockaddr_in>.size))
  withUnsafeMutablePointer(to: &address) {
    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
      _ = bind(descriptor, $0, length)
      _ = getsockname(descriptor, $0, &length)
    }
  }
  return (descriptor, Int(UInt16(bigEndian: address.sin_port)))
}

/// Makes a folder for a server, which does not run as root.
func makeServerFolder(_ folder: String) throws {
  try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  if getuid() == 0 { try run("/bin/chown", "postgres:", folder) }
}

/// Runs a program as the server's user; returns what it prints.
@discardableResult
func runAsServer(_ program: String, _ arguments: [String]) throws -> String {
  if getuid() != 0 { return try run(program, arguments) }
  return try run("/sbin/runuser", ["-u", "postgres", "--", program] + arguments)
}

/// Runs a program; returns what it prints, and throws that if it fails.
@discardableResult
func run(_ program: String, _ arguments: String...) throws -> String { try run(program, arguments) }

@discardableResult
func run(_ program: String, _ arguments: [String]) throws -> String {
  // Foundation's Process would wait for the end of the server that the program leaves.
  let path = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
  defer { unlink(path) }
  var actions = posix_spawn_file_actions_t()
  posix_spawn_file_actions_init(&actions)
  defer { posix_spawn_file_actions_destroy(&actions) }
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
  posix_spawn_file_actions_addopen(&actions, 1, path, O_WRONLY | O_CREAT, 0o600)
  posix_spawn_file_actions_adddup2(&actions, 1, 2)
  // The server would keep pipes of this program's open.
  for descriptor in Int32(3)..<1_024 { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
  let words = ([program] + arguments).map { strdup($0) } + [nil]
  defer { for word in words { free(word) } }
  var (process, status): (pid_t, Int32) = (0, 0)
  let code = posix_spawn(&process, program, &actions, nil, words, environ)
  guard code == 0 else {
    throw PostgreSQLServer.Failure(description: "\(program): \(String(cString: strerror(code)))")
  }
  while waitpid(process, &status, 0) < 0, errno == EINTR {}
  let printed = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
  guard status == 0 else {
    let command = ([program] + arguments).joined(separator: " ")
    throw PostgreSQLServer.Failure(
      description: "\(command) ended with status \(status): \(printed)")
  }
  return printed.trimmingCharacters(in: .whitespacesAndNewlines)
}
