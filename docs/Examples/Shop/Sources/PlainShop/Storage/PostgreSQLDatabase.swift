import CLibPQ
import Foundation

/// The tables in PostgreSQL.
final class PostgreSQLDatabase: Storage, @unchecked Sendable {
  // because the connection is used by one thread at first, and then on the queue alone
  private let connection: OpaquePointer
  private let queue = DispatchQueue(label: "postgresql")

  struct Failed: Error {
    let message: String
  }

  /// Connects, and makes missing tables.
  init(url: String) throws {
    connection = PQconnectdb(url)
    PQsetNoticeProcessor(connection, { _, _ in }, nil)
    // Another process of the service waits until this one's connection has ended.
    try run("SELECT pg_advisory_lock(7305)")
    try run(Self.tables)
    for statement in Statement.allCases {
      try check(PQprepare(connection, statement.rawValue, statement.sql, 0, nil))
    }
  }

  private static let tables = """
    CREATE TABLE IF NOT EXISTS orders(
      id BIGINT PRIMARY KEY, customer TEXT NOT NULL, sku TEXT NOT NULL,
      count BIGINT NOT NULL, amount BIGINT NOT NULL, state TEXT NOT NULL, receipt TEXT);
    CREATE TABLE IF NOT EXISTS goods(
      sku TEXT PRIMARY KEY, available BIGINT NOT NULL CHECK (available >= 0),
      price BIGINT NOT NULL);
    CREATE TABLE IF NOT EXISTS keys(key TEXT PRIMARY KEY, "order" BIGINT NOT NULL);
    CREATE TABLE IF NOT EXISTS outbox(
      "order" BIGINT PRIMARY KEY, kind TEXT NOT NULL, key TEXT NOT NULL,
      amount BIGINT NOT NULL, receipt TEXT);
    CREATE TABLE IF NOT EXISTS audit(
      "order" BIGINT NOT NULL, number BIGINT NOT NULL, state TEXT NOT NULL,
      at TIMESTAMPTZ NOT NULL DEFAULT now(),
      PRIMARY KEY("order", number))
    """

  fileprivate enum Statement: String, CaseIterable {
    case addGoods, returnGoods, addOrder, changeOrder, addAudit, addPayment, removePayment, addKey

    var sql: String {
      switch self {
      case .addGoods:
        """
        INSERT INTO goods(sku, available, price) VALUES ($1, $2, $3) ON CONFLICT(sku)
        DO UPDATE SET available = goods.available + excluded.available, price = excluded.price
        """
      case .returnGoods: "UPDATE goods SET available = available + $1 WHERE sku = $2"
      case .addOrder:
        "INSERT INTO orders(id, customer, sku, count, amount, state) VALUES ($1, $2, $3, $4, $5, $6)"
      case .changeOrder: "UPDATE orders SET state = $1, receipt = $2 WHERE id = $3"
      case .addAudit: "INSERT INTO audit(\"order\", number, state) VALUES ($1, $2, $3)"
      case .addPayment:
        "INSERT INTO outbox(\"order\", kind, key, amount, receipt) VALUES ($1, $2, $3, $4, $5)"
      case .removePayment: "DELETE FROM outbox WHERE \"order\" = $1"
      case .addKey: "INSERT INTO keys(key, \"order\") VALUES ($1, $2)"
      }
    }
  }

  // MARK: Writing

  func write(_ changes: [Change]) async throws {
    try await withCheckedThrowingContinuation { continuation in
      queue.async {
        continuation.resume(
          with: Result { try self.send(changes.flatMap(PostgreSQLDatabase.statements)) })
      }
    }
  }

  /// Sends all statements, and then waits for their results: one exchange, and so one transaction.
  private func send(_ statements: [(Statement, [String?])]) throws {
    PQenterPipelineMode(connection)
    for (statement, values) in statements {
      let texts = values.map { $0.flatMap { strdup($0) } }
      defer { for text in texts { free(text) } }
      PQsendQueryPrepared(
        connection, statement.rawValue, Int32(values.count), texts.map { UnsafePointer($0) }, nil,
        nil, 0)
    }
    PQpipelineSync(connection)
    var failure: (any Error)?
    for _ in statements {
      do { try check(PQgetResult(connection)) } catch { failure = failure ?? error }
      PQclear(PQgetResult(connection))  // A null pointer follows each result.
    }
    PQclear(PQgetResult(connection))
    PQexitPipelineMode(connection)
    if PQstatus(connection) != CONNECTION_OK {
      // Nobody knows whether the changes were saved. A new process finds out when it loads.
      FileHandle.standardError.write(Data("The connection to the database is lost.\n".utf8))
      exit(1)
    }
    if let failure { throw failure }
  }

  private static func statements(of change: Change) -> [(Statement, [String?])] {
    switch change {
    case .goods(let sku, let add, let price): return [(.addGoods, [sku, "\(add)", "\(price)"])]
    case .order(let order, let returned, let payment, let key):
      let (id, state) = ("\(order.id)", order.state.rawValue)
      var statements: [(Statement, [String?])] = [
        order.state == .placed
          ? (
            .addOrder, [id, order.customer, order.sku, "\(order.count)", "\(order.amount)", state]
          ) : (.changeOrder, [state, order.receipt, id]),
        (.addAudit, [id, "\(order.state.path.count)", state]),
      ]
      // A difference, not a sum: two orders of one transaction may take from the same goods.
      if returned != 0 { statements.append((.returnGoods, ["\(returned)", order.sku])) }
      if let payment {
        let (kind, amount) = (payment.kind.rawValue, "\(payment.amount)")
        statements.append((.addPayment, [id, kind, payment.key, amount, payment.receipt]))
      } else {
        statements.append((.removePayment, [id]))
      }
      if let key { statements.append((.addKey, [key, id])) }
      return statements
    }
  }

  // MARK: Loading

  func load() throws -> SavedState {
    var saved = SavedState()
    for row in try run("SELECT id, customer, sku, count, amount, state, receipt FROM orders") {
      let order = Order(
        id: Int(row[0]!)!, customer: row[1]!, sku: row[2]!, count: Int(row[3]!)!,
        amount: Int(row[4]!)!, state: Order.State(rawValue: row[5]!)!, receipt: row[6])
      saved.orders[order.id] = order
    }
    for row in try run("SELECT sku, available, price FROM goods") {
      saved.stock[row[0]!] = Goods(
        sku: row[0]!, available: Int(row[1]!)!, price: Int(row[2]!)!)
    }
    for row in try run("SELECT key, \"order\" FROM keys") { saved.keys[row[0]!] = Int(row[1]!)! }
    saved.payments = try run(
      "SELECT \"order\", kind, key, amount, receipt FROM outbox ORDER BY \"order\""
    ).map { row in
      Payment(
        order: Int(row[0]!)!, kind: Payment.Kind(rawValue: row[1]!)!, key: row[2]!,
        amount: Int(row[3]!)!, receipt: row[4])
    }
    return saved
  }

  func close() throws { PQfinish(connection) }

  // MARK: Results

  /// Runs statements; returns the rows of the last one.
  @discardableResult
  private func run(_ sql: String) throws -> [[String?]] {
    try check(PQexec(connection, sql))
  }

  @discardableResult
  private func check(_ result: OpaquePointer?) throws -> [[String?]] {
    defer { PQclear(result) }
    switch PQresultStatus(result) {
    case PGRES_TUPLES_OK, PGRES_COMMAND_OK:
      return (0..<PQntuples(result)).map { row in
        (0..<PQnfields(result)).map { column in
          PQgetisnull(result, row, column) == 1
            ? nil : String(cString: PQgetvalue(result, row, column))
        }
      }
    default: throw Failed(message: String(cString: PQerrorMessage(connection)))
    }
  }
}
