import Foundation

/// The installed git.
struct Git: Sendable {
  let executable: String
  private let environment: [String: String]

  /// Looks for git where a shell would: in the folders of `PATH`.
  init?(environment: [String: String]) {
    let folders = environment["PATH", default: ""].split(separator: ":")
    guard
      let executable = folders.lazy.map({ "\($0)/git" })
        .first(where: { Self.isProgram($0) })
    else { return nil }
    self.executable = executable
    self.environment = environment.filter { !Self.repositoryVariables.contains($0.key) }
      .merging(["LC_ALL": "C"]) { $1 }
  }

  /// Whether the file can be run; a folder counts as executable, too.
  private static func isProgram(_ path: String) -> Bool {
    FileManager.default.isExecutableFile(atPath: path)
      && !FileManager.default.fileExists(atPath: "\(path)/.")
  }

  /// Variables that git sets for its hooks to select a repository; here the path selects it.
  private static let repositoryVariables: Set = [
    "GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_PREFIX",
  ]

  /// Starts git.
  ///
  /// The process gives access to its output.
  func start(_ arguments: [String]) throws(GitError) -> GitProcess {
    try GitProcess(executable: executable, arguments: arguments, environment: environment)
  }

  /// The output of a git that succeeded.
  struct Output {
    let bytes: [UInt8]

    /// The first line as text.
    var line: String { ByteString(bytes).text.split(separator: "\n").first.map(String.init) ?? "" }
  }

  /// Runs git to its end.
  ///
  /// Throws git's message if it failed.
  func run(_ arguments: [String]) throws(GitError) -> Output {
    let process = try start(arguments)
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while case let count = try process.read(into: &buffer), count > 0 {
      bytes += buffer[..<count]
    }
    try process.waitForSuccess()
    return Output(bytes: bytes)
  }
}

/// A failure of git, with its message.
struct GitError: Error, Equatable, CustomStringConvertible {
  /// The way in which git ended.
  enum Ending: Equatable {
    case notStarted
    case exitCode(Int32)
    case signal(Int32)
  }

  let ending: Ending
  /// The text that git wrote to standard error, on one line.
  let message: String

  /// Whether git itself works, and refused the command here.
  var isRefusal: Bool { ending == .exitCode(128) }

  /// Whether git has found no repository, neither in the folder nor in those above it.
  ///
  /// Git has no exit code of its own for that.
  var foundNone: Bool { message.contains("not a git repository (or any") }

  var description: String {
    let end =
      switch ending {
      case .notStarted: "git could not be run"
      case .exitCode(let code): "git ended with exit code \(code)"
      case .signal(let number): "git was ended by signal \(number)"
      }
    return message.isEmpty ? end : "\(end): \(message)"
  }
}
