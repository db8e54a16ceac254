#if PostgreSQL
  import CPostgreSQL
  import DispatchStore
  import Foundation

  /// The client that uses libpq in this process.
  struct LibPQClient: PostgreSQLClient {
    let place: PostgreSQLPlace
    let settings: PostgreSQLSettings
    private let began = ContinuousClock.now

    var holder: String { PostgreSQLHolder.this.text }

    func isDead(_ holder: PostgreSQLHolder) -> Bool { holder.isDead }

    func connect() throws(PostgreSQLFailure) -> any PostgreSQLConnection {
      try LibPQConnection(place, settings)
    }

    var now: Duration { began.duration(to: .now) }

    func pause(for time: Duration) { Thread.sleep(forTimeInterval: time / .seconds(1)) }
  }

  /// A connection to a PostgreSQL server: sends statements together, and waits for their results.
  ///
  /// A pooler like pgbouncer may be between. If it uses another connection to the server, which does not know the prepared
  /// statements, the transaction is sent again, and no further statement is prepared. Nothing else is left to a session.
  final class LibPQConnection: PostgreSQLConnection {
    private let handle: OpaquePointer
    /// How long the server may neither take nor send anything, in milliseconds.
    private let patience: Int32
    /// The names of prepared statements, by their text.
    private var prepared: [String: String] = [:]
    private var prepares = true
    private var preparedCount = 0
    /// Whether the server has committed without waiting for its standby, because somebody has cancelled the wait.
    private var isUnreplicated = false
    /// The reason why nothing more can be sent, although the connection isn't lost.
    private var refusal: PostgreSQLFailure?
    /// A text that no other connection has, in case a pooler lets several use the same one of the server.
    private let prefix = "dispatchstore_\(UInt64.random(in: 0...UInt64.max))"

    /// Connects.
    init(_ place: PostgreSQLPlace, _ settings: PostgreSQLSettings) throws(PostgreSQLFailure) {
      patience = Int32(min(max(settings.patience / .milliseconds(1), 0), Double(Int32.max)))
      let silence = max(settings.lease.components.seconds, 1)
      // The last one of a name wins. So the URL overrides these settings, but not the encoding: all text is UTF-8.
      let options = [
        ("connect_timeout", "\(max(silence / 2, 2))"), ("keepalives", "1"),
        ("keepalives_idle", "\(silence)"), ("keepalives_interval", "\(max(silence / 3, 1))"),
        ("keepalives_count", "3"), ("tcp_user_timeout", "\(silence * 1_000)"),
        ("fallback_application_name", "DispatchStore"), ("dbname", place.url),
        ("client_encoding", "UTF8"),
      ]
      let (names, values) = (Self.strings(options.map(\.0)), Self.strings(options.map(\.1)))
      defer { for string in names + values { free(UnsafeMutablePointer(mutating: string)) } }
      handle = PQconnectdbParams(names, values, 1)
      guard PQstatus(handle) == CONNECTION_OK else {
        throw PostgreSQLFailure(
          sqlState: "08001", message: Self.message(of: handle), isLost: true)
      }
      PQsetNoticeReceiver(
        handle,
        { connection, notice in
          Unmanaged<LibPQConnection>.fromOpaque(connection!).takeUnretainedValue().receive(notice!)
        }, Unmanaged.passUnretained(self).toOpaque())
      PQsetnonblocking(handle, 1)
      PQenterPipelineMode(handle)
    }

    deinit { PQfinish(handle) }

    /// Notes what the server says besides results.
    private func receive(_ notice: OpaquePointer) {
      let function = PQresultErrorField(notice, Int32(UInt8(ascii: "R")))
      if function.map({ String(cString: $0) }) == "SyncRepWaitForLSN" { isUnreplicated = true }
    }

    private static func strings(_ texts: [String]) -> [UnsafePointer<CChar>?] {
      texts.map { UnsafePointer(strdup($0)) } + [nil]
    }

    private static func message(of handle: OpaquePointer) -> String {
      String(cString: PQerrorMessage(handle)).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    func run(_ statements: [PostgreSQLStatement]) throws(PostgreSQLFailure)
      -> [any PostgreSQLResult]
    {
      if let refusal { throw refusal }
      var expected: [Expected] = []
      for (index, statement) in statements.enumerated() {
        guard send(statement, at: index, &expected) else { throw lost(at: index) }
      }
      guard PQpipelineSync(handle) == 1 else { throw lost(at: statements.count) }
      var (results, failure): ([any PostgreSQLResult], PostgreSQLFailure?) = ([], nil)
      for (index, preparation) in expected {
        let result = try next(at: index)
        switch result.status {
        case PGRES_COMMAND_OK where preparation != nil:
          prepared[preparation!.sql] = preparation!.name
        case PGRES_COMMAND_OK where statements[index].isCommit && result.commandTag != "COMMIT":
          failure =
            failure
            ?? PostgreSQLFailure(
              index: index, sqlState: "25P02", message: "the transaction had failed before",
              isLost: false)
        case PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_EMPTY_QUERY:
          results.append(result)
        case PGRES_PIPELINE_ABORTED:
          break
        case PGRES_COPY_IN, PGRES_COPY_OUT, PGRES_COPY_BOTH:
          // Only if the driver has not recognised it, because of escapes in quotes. Nothing else can be sent now, so
          // rolling back fails, and gives the connection up.
          let refusal = PostgreSQLFailure(
            index: index, sqlState: "0A000", message: "COPY needs a connection of its own",
            isLost: false)
          self.refusal = refusal
          throw refusal
        default:
          let isLost = PQstatus(handle) != CONNECTION_OK || result.sqlState.isEmpty
          failure =
            failure
            ?? PostgreSQLFailure(
              index: index, sqlState: result.sqlState, message: result.message, isLost: isLost)
          if isLost { throw failure! }
        }
        // A null pointer follows the results of each statement.
        while try nextOrNil(at: index) != nil {}
      }
      _ = try next(at: statements.count)
      if isUnreplicated {
        throw PostgreSQLFailure(
          index: statements.count, sqlState: "08006",
          message: "the server has stopped waiting for its standby", isLost: true)
      }
      if let failure {
        guard failure.sqlState == "26000", prepares else { throw failure }
        (prepares, prepared) = (false, [:])
        guard case .begin = statements.first else { throw failure }
        _ = try run([.rollback])
        return try run(statements)
      }
      return results
    }

    /// A result to come: that of a statement, by its place, or that of preparing it.
    private typealias Expected = (index: Int, preparation: (sql: String, name: String)?)

    /// Sends a statement, and prepares it before if it is one of each group; returns false if the connection is lost.
    private func send(
      _ statement: PostgreSQLStatement, at index: Int, _ expected: inout [Expected]
    ) -> Bool {
      let query = PostgreSQLQuery(statement)
      var name: String?
      if prepares, statement.isPartOfGroups {
        name = prepared[query.sql] ?? "\(prefix)_\(preparedCount)"
        if prepared[query.sql] == nil {
          preparedCount += 1
          guard query.prepare(as: name!, on: handle) else { return false }
          expected.append((index, (query.sql, name!)))
        }
      }
      expected.append((index, nil))
      return query.send(to: handle, preparedAs: name)
    }

    private func next(at index: Int) throws(PostgreSQLFailure) -> LibPQResult {
      guard let result = try nextOrNil(at: index) else { throw lost(at: index) }
      return result
    }

    private func nextOrNil(at index: Int) throws(PostgreSQLFailure) -> LibPQResult? {
      // libpq takes as much of an encrypted record as its buffer holds. The socket says nothing of the rest, which is in
      // memory already, so libpq is asked for it after a moment.
      let isEncrypted = PQsslInUse(handle) == 1 || PQgssEncInUse(handle) == 1
      let step = isEncrypted ? min(patience, 20) : patience
      var silence = 0
      while PQisBusy(handle) == 1 {
        let unsent = PQflush(handle)
        if unsent < 0 { throw lost(at: index) }
        var descriptor = pollfd(
          fd: PQsocket(handle), events: Int16(POLLIN | (unsent > 0 ? POLLOUT : 0)), revents: 0)
        let count = poll(&descriptor, 1, step)
        silence = count == 0 ? silence + Int(step) : 0
        if silence >= patience {
          throw PostgreSQLFailure(
            index: index, sqlState: "08006",
            message: "the server has not answered for \(Double(patience) / 1_000) s", isLost: true)
        }
        if PQconsumeInput(handle) == 0 { throw lost(at: index) }
      }
      return PQgetResult(handle).map(LibPQResult.init)
    }

    private func lost(at index: Int) -> PostgreSQLFailure {
      let message = Self.message(of: handle)
      return PostgreSQLFailure(
        index: index, sqlState: "08006", message: message.isEmpty ? "connection lost" : message,
        isLost: true)
    }

    var isInTransaction: Bool { PQtransactionStatus(handle) != PQTRANS_IDLE }
  }
#endif
