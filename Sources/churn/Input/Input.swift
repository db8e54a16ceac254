/// The history to replay: the one that the command line names, or the default.
struct Input {
  let source: any ByteSource
  /// The repository, if the history is read from one.
  let repository: Repository?
  /// A message about the choice, if the command line does not make it.
  let notice: String?

  /// Finds the history.
  ///
  /// `directory` is the one in which the program was started.
  init(
    _ choice: Options.Source, environment: [String: String], directory: String
  ) throws(Failure) {
    switch choice {
    case .automatic:
      self = try Self.automatic(environment, directory)
    case .repository(let path):
      guard let git = Git(environment: environment) else {
        throw Failure(.unavailable, "git is not installed: there is none in the folders of PATH")
      }
      try self.init(try Self.open(path, git))
    case .file(let path):
      self.init(try FileSource(path: path))
    case .standardInput:
      self.init(FileSource.standardInput)
    }
  }

  private init(_ source: any ByteSource, notice: String? = nil) {
    self.source = source
    self.notice = notice
    repository = nil
  }

  private init(_ repository: Repository) throws(Failure) {
    source = try repository.log()
    self.repository = repository
    notice = nil
  }

  private static func automatic(
    _ environment: [String: String], _ directory: String
  ) throws(Failure) -> Input {
    guard let git = Git(environment: environment) else {
      return saved(because: "git is not installed")
    }
    let repository: Repository
    do {
      repository = try Repository(at: directory, git: git)
    } catch .notRepository(let reason) where reason.foundNone {
      return saved(because: "there is no repository here (\(reason))")
    } catch {
      throw failure(error, directory)
    }
    return try Input(repository)
  }

  private static func saved(because reason: String) -> Input {
    Input(SavedHistory(), notice: "\(reason): replaying the history saved with the program")
  }

  private static func open(_ path: String, _ git: Git) throws(Failure) -> Repository {
    do {
      return try Repository(at: path, git: git)
    } catch {
      throw failure(error, path)
    }
  }

  private static func failure(_ error: Repository.OpenError, _ path: String) -> Failure {
    switch error {
    case .notRepository(let reason):
      Failure(.noInput, "'\(path)' is not a repository: \(reason)")
    case .noCommits:
      Failure(.dataError, "the repository '\(path)' has no commits yet")
    case .failed(let reason):
      Failure(.unavailable, "cannot read the repository '\(path)': \(reason)")
    }
  }
}
