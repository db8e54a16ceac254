#if SQLite
  /// The most recently used statements of the user's, by their text.
  struct StatementCache {
    private var entries: [String: (sql: String, statement: SQLiteStatement, lastUse: Int)] = [:]
    private var uses = 0
    private let capacity: Int

    init(capacity: Int) { self.capacity = capacity }

    /// The number of statements.
    var count: Int { entries.count }

    /// The statement with a text, which `prepare` makes if it isn't here.
    mutating func statement(
      _ sql: String, prepare: (String) throws -> SQLiteStatement
    ) rethrows -> SQLiteStatement {
      uses += 1
      // By bytes: for the dictionary, texts are equal in any Unicode form.
      if let entry = entries[sql], entry.sql.utf8.elementsEqual(sql.utf8) {
        entries[sql]?.lastUse = uses
        return entry.statement
      }
      let statement = try prepare(sql)
      // So few entries that looking at each costs less than compiling one statement.
      if entries.count >= capacity,
        let oldest = entries.min(by: { $0.value.lastUse < $1.value.lastUse })?.key
      {
        entries[oldest] = nil
      }
      entries[sql] = (sql, statement, uses)
      return statement
    }
  }
#endif
