/// A git repository with at least one commit.
struct Repository: Sendable {
  let path: String
  /// The commit that HEAD named when the repository was opened.
  let head: String
  /// Whether older commits were not cloned.
  let isShallow: Bool
  private let git: Git

  /// Why a folder is no repository to replay.
  enum OpenError: Error {
    case notRepository(GitError)
    case noCommits
    case failed(GitError)
  }

  init(at path: String, git: Git) throws(OpenError) {
    self.path = path
    self.git = git
    do {
      isShallow = try git.run(["-C", path, "rev-parse", "--is-shallow-repository"]).line == "true"
    } catch {
      throw error.isRefusal ? .notRepository(error) : .failed(error)
    }
    do {
      head = try git.run(["-C", path, "rev-parse", "--verify", "HEAD"]).line
    } catch {
      throw error.isRefusal ? .noCommits : .failed(error)
    }
  }

  /// The history that leads to `head`, as git prints it.
  func log() throws(Failure) -> GitLog {
    // Overrides settings of the user that would change the output.
    let settings = ["-c", "log.showSignature=false", "-c", "diff.relative=false"]
    let arguments = ["-C", path] + settings + LogCommand.arguments(for: head)
    let name = "git log of '\(path)'"
    do {
      return GitLog(name: name, process: try git.start(arguments))
    } catch {
      throw Failure(.unavailable, "\(name): \(error)")
    }
  }

  /// Git's own count of the lines of all files at `commit`, as `numstat` records.
  func numstat(at commit: String) throws(GitError) -> [UInt8] {
    let emptyTree = try git.run(["-C", path, "hash-object", "-t", "tree", "/dev/null"]).line
    return try git.run([
      "-C", path, "-c", "diff.relative=false", "diff", "--numstat", "-z", "--no-renames",
      "--no-ext-diff", "--no-textconv", emptyTree, commit,
    ]).bytes
  }
}

/// The log that a running git prints.
struct GitLog: ByteSource {
  let name: String
  fileprivate let process: GitProcess

  func read(into buffer: inout [UInt8]) throws(Failure) -> Int {
    try running { () throws(GitError) in try process.read(into: &buffer) }
  }

  func checkCompleteness() throws(Failure) {
    try running { () throws(GitError) in try process.waitForSuccess() }
  }

  private func running<Result>(_ work: () throws(GitError) -> Result) throws(Failure) -> Result {
    do {
      return try work()
    } catch {
      throw Failure(.unavailable, "\(name): \(error)")
    }
  }

  func stop() { process.stop() }
}
