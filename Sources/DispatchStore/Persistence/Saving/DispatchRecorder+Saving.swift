public import Foundation

extension DispatchRecorder {
  /// Saves what came since the last call in the table `dispatch_log`, and removes the dispatcher's entries that ended
  /// longer ago than `age`.
  ///
  ///     let saving = Task {
  ///       while !Task.isCancelled {
  ///         do {
  ///           try await recorder.saveLog(in: persistence, keeping: .seconds(7 * 86_400))
  ///         } catch {
  ///           print("The log was not saved: \(error)")
  ///         }
  ///         try? await Task.sleep(for: .seconds(1))
  ///       }
  ///     }
  ///     …
  ///     saving.cancel()  // At the end, once the dispatcher has drained.
  ///     try await recorder.saveLog(
  ///       in: persistence, keeping: .seconds(7 * 86_400), timeout: .seconds(1))
  ///
  /// Everything is written in one transaction of its own, after the commits before it. If more than 10,000 entries are
  /// to be removed, they go in transactions before that. New entries that ended longer ago than `age` are not saved. Masks
  /// apply. Call it more often than the recorder's limit is reached, and once more before you close the persistence.
  ///
  /// - Parameters:
  ///   - persistence: The persistence whose database has the table.
  ///   - age: How long ago the oldest entries ended that are kept.
  ///   - limit: The longest time to wait for a database that is locked, full or away; nil to wait until it is back.
  /// - Returns: The number of entries that came since the last call and are not saved: those that the recorder had
  ///   dropped, and those that ended longer ago than `age`.
  /// - Throws: A `PersistenceError`, or the encoder's error. The next call then saves the same entries. The code is
  ///   `busy` if the table is locked; stores are saved meanwhile. While the commits of stores can't be saved either, because
  ///   the database is locked, full or away, it waits for them. If there are none, it throws `busy` or `full`. A
  ///   `DispatchError` with the code `timedOut` after the limit, and `CancellationError` if the task is cancelled. A
  ///   transaction that is under way then is not awaited; the next call saves only what that has not saved.
  @discardableResult
  public func saveLog(
    in persistence: Persistence, keeping age: Duration, timeout limit: Duration? = nil
  ) async throws -> Int {
    let timeLimit = SavingWait.Limit(limit, persistence.clock)
    let oldest = (persistence.clock.unixNanoseconds - age.wholeNanoseconds) / 1_000
    let savedPosition = savedPosition
    let (log, end) = log(after: savedPosition.withLock(\.self), atMost: .max)
    let rows = try log.rows(from: end - log.entries.count, of: rowMark)
    while true {
      let unsaved = try await persistence.attempt(within: timeLimit) { driver -> Int? in
        try LogRow.makeTable(driver)
        if try LogRow.remove(before: oldest, of: log.dispatcher, driver) { return nil }
        // Another call may have saved some of them since.
        let start = savedPosition.withLock(\.self)
        let new = rows.filter { $0.position >= start && $0.ended >= oldest }
        try LogRow.insert(new, driver)
        return max(0, end - start) - new.count
      } committed: { unsaved in
        if unsaved != nil { savedPosition.withLock { $0 = max($0, end) } }
      }
      if let unsaved { return unsaved }
    }
  }
}

extension DispatchLog {
  /// Reads the saved logs of `saveLog(in:keeping:timeout:)`: one for each recorder of each process, the oldest first.
  ///
  /// A log's `droppedCount` includes the entries that this call does not read.
  ///
  /// - Parameters:
  ///   - persistence: The persistence that has the logs.
  ///   - date: The time from which on dispatches have ended.
  /// - Throws: A `PersistenceError`, as `saveLog(in:keeping:timeout:)`, or a `LogFormatError` whose line counts the rows.
  ///   `CancellationError` if the task is cancelled.
  public static func saved(
    in persistence: Persistence, since date: Date = .distantPast
  ) async throws -> [DispatchLog] {
    let since = date.unixNanoseconds / 1_000
    let rows = try await persistence.attempt { driver in
      try LogRow.makeTable(driver)
      return try LogRow.all(since: since, driver)
    }
    var (logs, mark): ([DispatchLog], Int64?) = ([], nil)
    let decoder = JSONDecoder()
    for (index, row) in rows.enumerated() {
      guard let row = LogRow(row) else {
        throw LogFormatError(line: index + 1, reason: "It is no row of a log.")
      }
      let origin = Date(unixNanoseconds: row.origin * 1_000)
      if logs.last?.origin != origin || logs.last?.dispatcher != row.dispatcher || mark != row.mark
      {
        mark = row.mark
        logs.append(DispatchLog(dispatcher: row.dispatcher, origin: origin))
      }
      do {
        let entry = try decoder.decode(Entry.self, from: Data(row.entry.utf8))
        let last = logs.count - 1
        logs[last].entries.append(entry)
        // An edited table may have rows of one number.
        logs[last].droppedCount = max(0, Int(row.position) + 1 - logs[last].entries.count)
      } catch {
        throw LogFormatError(line: index + 1, reason: "\(error)")
      }
    }
    return logs
  }

  fileprivate func rows(from position: Int, of mark: Int64) throws -> [LogRow] {
    let encoder = Self.makeEncoder()
    let start = origin.unixNanoseconds
    return try entries.enumerated().map { index, entry in
      let end = (entry.began + entry.timeQueued + entry.duration).wholeNanoseconds
      return LogRow(
        origin: start / 1_000, dispatcher: dispatcher,
        number: mark << LogRow.positionWidth | Int64(position + index),
        ended: (start + end) / 1_000,
        entry: String(decoding: try encoder.encode(entry), as: UTF8.self))
    }
  }
}

/// A row of the table of logs; times are microseconds since 1970.
private struct LogRow {
  let origin: Int64
  let dispatcher: String
  /// The recorder's mark, and in the lower bits the position in its log.
  let number: Int64
  let ended: Int64
  let entry: String

  static let positionWidth = 40

  /// Tells apart recorders that have begun at the same time; zero in rows of earlier versions.
  var mark: Int64 { number >> Self.positionWidth }
  var position: Int64 { number & (1 << Self.positionWidth - 1) }

  /// The most rows of one statement: each statement is an exchange with a server.
  private static let batch = 50

  /// Makes the table if it is missing, since a role may have no right to make one.
  static func makeTable(_ driver: any PersistenceDriver) throws {
    if try isThere(driver) { return }
    let statements = [
      """
      CREATE TABLE IF NOT EXISTS dispatch_log (origin BIGINT NOT NULL, dispatcher TEXT NOT NULL, \
      number BIGINT NOT NULL, ended BIGINT NOT NULL, entry TEXT NOT NULL)
      """, "CREATE INDEX IF NOT EXISTS dispatch_log_ended ON dispatch_log (ended)",
      "CREATE INDEX IF NOT EXISTS dispatch_log_dispatcher ON dispatch_log (dispatcher, ended)",
    ]
    do {
      for statement in statements { _ = try driver.execute(statement, []) }
    } catch let error as PersistenceError where error.code == .statement {
      // Another partition of the same database may have made it meanwhile.
      guard try isThere(driver) else { throw error }
    }
  }

  private static func isThere(_ driver: any PersistenceDriver) throws -> Bool {
    do {
      _ = try driver.query(
        "SELECT origin, dispatcher, number, ended, entry FROM dispatch_log LIMIT 0", [])
      return true
    } catch let error as PersistenceError where error.code == .statement {
      return false
    }
  }

  static func insert(_ rows: [LogRow], _ driver: any PersistenceDriver) throws {
    for start in stride(from: 0, to: rows.count, by: batch) {
      let rows = rows[start..<min(start + batch, rows.count)]
      let places = rows.indices.map { row in
        "(" + (1...5).map { "$\((row - start) * 5 + $0)" }.joined(separator: ", ") + ")"
      }
      _ = try driver.execute(
        "INSERT INTO dispatch_log (origin, dispatcher, number, ended, entry) VALUES "
          + places.joined(separator: ", "), rows.flatMap(\.values))
    }
  }

  static func all(since time: Int64, _ driver: any PersistenceDriver) throws -> [[DatabaseValue]] {
    try driver.query(
      """
      SELECT origin, dispatcher, number, ended, entry FROM dispatch_log WHERE ended >= $1 \
      ORDER BY origin, dispatcher, number
      """, [.integer(time)])
  }

  /// The number of rows that one call removes; more only if they ended at the same time.
  private static let removal = 10_000

  /// Removes the oldest rows of a dispatcher, and returns whether there are more to remove.
  ///
  /// A server that removes millions of rows is silent for so long that it counts as lost.
  static func remove(
    before time: Int64, of dispatcher: String, _ driver: any PersistenceDriver
  ) throws -> Bool {
    let next = try driver.query(
      """
      SELECT ended FROM dispatch_log WHERE ended < $1 AND dispatcher = $2 \
      ORDER BY ended LIMIT 1 OFFSET \(removal)
      """, [.integer(time), .text(dispatcher)]
    ).first?.first
    _ = try driver.execute(
      "DELETE FROM dispatch_log WHERE ended < $1 AND ended <= $2 AND dispatcher = $3",
      [.integer(time), next ?? .integer(time), .text(dispatcher)])
    return next != nil
  }

  private var values: [DatabaseValue] {
    [.integer(origin), .text(dispatcher), .integer(number), .integer(ended), .text(entry)]
  }
}

extension LogRow {
  init?(_ row: [DatabaseValue]) {
    guard case .integer(let origin) = row[0], case .text(let dispatcher) = row[1],
      case .integer(let number) = row[2], case .integer(let ended) = row[3],
      case .text(let entry) = row[4], origin.magnitude <= Int64.max.magnitude / 1_000
    else { return nil }
    self.init(origin: origin, dispatcher: dispatcher, number: number, ended: ended, entry: entry)
  }
}
