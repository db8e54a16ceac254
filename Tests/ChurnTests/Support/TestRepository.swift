import Foundation

@testable import churn

/// A repository made for a test by running git.
struct TestRepository {
  /// Excludes git's settings of the machine and of the user.
  static let environment = ProcessInfo.processInfo.environment.merging([
    "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "GIT_CEILING_DIRECTORIES": "/",
  ]) { $1 }

  static let gitIsInstalled = Git(environment: environment) != nil

  let folder: TemporaryFolder

  var path: String { folder.path }

  init() throws {
    folder = try TemporaryFolder()
    try git("init", "--quiet")
    try git("symbolic-ref", "HEAD", "refs/heads/main")
  }

  @discardableResult
  func git(_ arguments: String..., author: String = "Ada", day: Int = 1) throws -> String {
    let name = author.lowercased()
    let date = "2024-02-\(day < 10 ? "0" : "")\(day)T12:00:00Z"
    let identity = [
      "GIT_AUTHOR_NAME": author, "GIT_AUTHOR_EMAIL": "\(name)@example.org",
      "GIT_COMMITTER_NAME": author, "GIT_COMMITTER_EMAIL": "\(name)@example.org",
      "GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date,
    ]
    let environment = Self.environment.merging(identity) { $1 }
    guard let git = Git(environment: environment) else { throw GitIsMissing() }
    return ByteString(try git.run(["-C", path] + arguments).bytes).text
  }

  /// Commits everything in the folder.
  func commit(_ message: String, author: String = "Ada", day: Int = 1) throws {
    try git("add", "--all", author: author, day: day)
    try git("commit", "--quiet", "--allow-empty", "-m", message, author: author, day: day)
  }

  func write(_ text: String, to name: String) throws {
    try folder.write(text.utf8, to: name)
  }

  private struct GitIsMissing: Error {}
}
