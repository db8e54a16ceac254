import Dispatch
import DispatchStore

#if SQLite
  import DispatchStorePersistence
#endif

/// The database in which a replay is saved, so that the next run goes on where this one has ended.
///
/// Its functions block their thread.
struct ReplayDatabase: Sendable {
  /// The name in messages.
  let name: String
  /// Opens the database for a dispatcher.
  let open: @Sendable (Dispatcher) async throws -> Persistence

  /// The database in a file.
  ///
  /// Throws if the program was built without SQLite.
  static func file(_ path: String) throws(Failure) -> ReplayDatabase {
    #if SQLite
      ReplayDatabase(name: path) { dispatcher in
        let persistence = try await Persistence(.sqlite(path: path))
        dispatcher.attach(persistence)
        return persistence
      }
    #else
      throw Failure(
        .unavailable,
        "'--persist' needs SQLite: build churn with 'swift build -c release --traits SQLite'")
    #endif
  }

  /// Replays what an earlier run has left of a history, with stores that are saved.
  func resume(
    _ history: EventBatches, _ hooks: [Hook],
    _ replay: (EventBatches, Stores) throws -> RunResult
  ) throws -> RunResult {
    let beginning = SavedProgress(
      firstCommit: history.log.summary.firstHash ?? "", copies: history.copies)
    let stores = try blocking { try await Stores(hooks: hooks, savedBy: open, beginning) }
    var rest = history
    let progresses = stores.models.progresses
    rest.skipped = try position(of: progresses, beginning, in: history)
    rest.isResumed = progresses.contains { $0.taken > 0 }
    let result = try replay(rest, stores)
    try blocking { try await stores.persistence?.close() }
    return result
  }

  /// The number of events that all models have taken in.
  private func position(
    of progresses: [SavedProgress], _ beginning: SavedProgress, in history: EventBatches
  ) throws -> Int {
    for progress in progresses where !progress.isOfSameHistory(as: beginning) {
      throw Failure(
        .dataError,
        "'\(name)' holds the replay of another history: its first commit is "
          + "\(progress.firstCommit), and its copies are \(progress.copies)")
    }
    let taken = progresses.map(\.taken)
    guard let first = taken.min(), let last = taken.max(), last <= history.eventCount else {
      throw Failure(
        .dataError,
        "'\(name)' has come to event \(taken.max() ?? 0), and the history has "
          + "\(history.eventCount)")
    }
    try check(Set(progresses.compactMap(\.lastCommit)), areIn: history.log)
    return first
  }

  /// Throws unless the log has all of the commits.
  private func check(_ commits: Set<ByteString>, areIn log: SpooledLog) throws {
    // A new database has no commits, and the check reads the whole log.
    if commits.isEmpty { return }
    var missing = commits
    try log.forEachCommit { missing.remove($0.hash) }
    guard let commit = missing.first else { return }
    throw Failure(
      .dataError,
      "'\(name)' holds the replay of another history: it has come to commit \(commit), "
        + "which is not in this one")
  }

  private final class End<Value>: @unchecked Sendable {
    // Unchecked because: the result is set before the signal, and read after it.
    var result: Result<Value, any Error>?
    let done = DispatchSemaphore(value: 0)
  }

  private func blocking<Value: Sendable>(
    _ work: @escaping @Sendable () async throws -> Value
  ) throws -> Value {
    let end = End<Value>()
    Task.detached {
      do { end.result = .success(try await work()) } catch { end.result = .failure(error) }
      end.done.signal()
    }
    end.done.wait()
    do {
      return try end.result!.get()
    } catch let error as PersistenceError {
      throw Failure(.cannotCreate, "cannot keep the replay in '\(name)': \(error.message)")
    }
  }
}
