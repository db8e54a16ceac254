import GRDB

/// The tables in SQLite.
struct Database: Storage {
  private let queue: DatabaseQueue

  /// Opens the file, and creates or migrates its tables.
  init(path: String) throws {
    var configuration = Configuration()
    configuration.journalMode = .wal
    configuration.busyMode = .timeout(1)
    queue = try DatabaseQueue(path: path, configuration: configuration)
    // GRDB sets NORMAL once it has opened a file in WAL mode. Then a power cut would lose acknowledged orders.
    try queue.inDatabase { try $0.execute(sql: "PRAGMA synchronous = FULL") }
    try Self.migrator.migrate(queue)
  }

  private static var migrator: DatabaseMigrator {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("1") { db in
      try db.execute(
        sql: """
          CREATE TABLE orders(
            id INTEGER PRIMARY KEY, customer TEXT NOT NULL, sku TEXT NOT NULL,
            count INTEGER NOT NULL, amount INTEGER NOT NULL, state TEXT NOT NULL, receipt TEXT);
          CREATE TABLE goods(
            sku TEXT PRIMARY KEY, available INTEGER NOT NULL CHECK (available >= 0),
            price INTEGER NOT NULL) WITHOUT ROWID;
          CREATE TABLE keys(key TEXT PRIMARY KEY, "order" INTEGER NOT NULL) WITHOUT ROWID;
          CREATE TABLE outbox(
            "order" INTEGER PRIMARY KEY, kind TEXT NOT NULL, key TEXT NOT NULL,
            amount INTEGER NOT NULL, receipt TEXT);
          CREATE TABLE audit(
            "order" INTEGER NOT NULL, number INTEGER NOT NULL, state TEXT NOT NULL,
            at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP,
            PRIMARY KEY("order", number)) WITHOUT ROWID;
          """)
    }
    return migrator
  }

  func write(_ changes: [Change]) async throws {
    try await queue.write { db in
      for change in changes { try Self.write(change, to: db) }
    }
  }

  private static func write(_ change: Change, to db: GRDB.Database) throws {
    switch change {
    case .goods(let sku, let add, let price):
      try db.cachedStatement(
        sql: """
          INSERT INTO goods(sku, available, price) VALUES (?, ?, ?) ON CONFLICT(sku)
          DO UPDATE SET available = available + excluded.available, price = excluded.price
          """
      ).execute(arguments: [sku, add, price])
    case .order(let order, let returned, let payment, let key):
      try write(order, to: db)
      // A difference, not a sum: two orders of one transaction may take from the same goods.
      if returned != 0 {
        try db.cachedStatement(sql: "UPDATE goods SET available = available + ? WHERE sku = ?")
          .execute(arguments: [returned, order.sku])
      }
      try write(payment, of: order, to: db)
      if let key {
        try db.cachedStatement(sql: "INSERT INTO keys(key, \"order\") VALUES (?, ?)")
          .execute(arguments: [key, order.id])
      }
    }
  }

  private static func write(_ order: Order, to db: GRDB.Database) throws {
    if order.state == .placed {
      try db.cachedStatement(
        sql: """
          INSERT INTO orders(id, customer, sku, count, amount, state) VALUES (?, ?, ?, ?, ?, ?)
          """
      ).execute(arguments: [
        order.id, order.customer, order.sku, order.count, order.amount, order.state.rawValue,
      ])
    } else {
      try db.cachedStatement(sql: "UPDATE orders SET state = ?, receipt = ? WHERE id = ?")
        .execute(arguments: [order.state.rawValue, order.receipt, order.id])
    }
    try db.cachedStatement(sql: "INSERT INTO audit(\"order\", number, state) VALUES (?, ?, ?)")
      .execute(arguments: [order.id, order.state.path.count, order.state.rawValue])
  }

  private static func write(_ payment: Payment?, of order: Order, to db: GRDB.Database) throws {
    if let payment {
      try db.cachedStatement(
        sql: """
          INSERT INTO outbox("order", kind, key, amount, receipt) VALUES (?, ?, ?, ?, ?)
          """
      ).execute(arguments: [
        payment.order, payment.kind.rawValue, payment.key, payment.amount, payment.receipt,
      ])
    } else {
      try db.cachedStatement(sql: "DELETE FROM outbox WHERE \"order\" = ?")
        .execute(arguments: [order.id])
    }
  }

  func load() throws -> SavedState {
    try queue.read { db in
      var saved = SavedState()
      let orders = try Row.fetchCursor(db, sql: "SELECT * FROM orders")
      while let row = try orders.next() {
        let order = Order(
          id: row["id"], customer: row["customer"], sku: row["sku"], count: row["count"],
          amount: row["amount"], state: row["state"], receipt: row["receipt"])
        saved.orders[order.id] = order
      }
      let goods = try Row.fetchCursor(db, sql: "SELECT * FROM goods")
      while let row = try goods.next() {
        saved.stock[row["sku"]] = Goods(
          sku: row["sku"], available: row["available"], price: row["price"])
      }
      let keys = try Row.fetchCursor(db, sql: "SELECT * FROM keys")
      while let row = try keys.next() { saved.keys[row["key"]] = row["order"] }
      let payments = try Row.fetchCursor(db, sql: "SELECT * FROM outbox ORDER BY \"order\"")
      while let row = try payments.next() {
        saved.payments.append(
          Payment(
            order: row["order"], kind: row["kind"], key: row["key"], amount: row["amount"],
            receipt: row["receipt"]))
      }
      return saved
    }
  }

  /// Closes the file.
  func close() throws { try queue.close() }
}

extension Order.State: DatabaseValueConvertible {}
extension Payment.Kind: DatabaseValueConvertible {}
