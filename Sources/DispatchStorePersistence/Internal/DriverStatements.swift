#if SQLite
  /// The driver's own statements, compiled once.
  ///
  /// They name the database `main`, so that a temporary table of the user's can't take a table's place.
  struct DriverStatements {
    let begin: SQLiteStatement
    let commit: SQLiteStatement
    let countGroup: SQLiteStatement
    let readOwner: SQLiteStatement

    let allStores: SQLiteStatement
    let findStore: SQLiteStatement
    let saveStore: SQLiteStatement
    let saveVersion: SQLiteStatement
    let deleteStore: SQLiteStatement

    let rowsOfPart: SQLiteStatement
    let lastPart: SQLiteStatement
    let saveRow: SQLiteStatement
    let deleteRow: SQLiteStatement
    let deleteRows: SQLiteStatement

    init(_ connection: SQLiteConnection) throws {
      begin = try connection.prepare("BEGIN IMMEDIATE")
      commit = try connection.prepare("COMMIT")
      countGroup = try connection.prepare(
        """
        UPDATE main.dispatchstore_owner SET last_group = last_group + 1
        WHERE id = 1 AND epoch = ?1 AND last_group = ?2
        """)
      readOwner = try connection.prepare(
        "SELECT epoch, last_group FROM main.dispatchstore_owner WHERE id = 1")

      allStores = try connection.prepare(
        "SELECT identifier FROM main.dispatchstore_stores ORDER BY number")
      findStore = try connection.prepare(
        """
        SELECT number, version, type_name, type_version FROM main.dispatchstore_stores
        WHERE identifier = ?1
        """)
      saveStore = try connection.prepare(
        """
        INSERT INTO main.dispatchstore_stores (identifier, version, type_name, type_version)
        VALUES (?1, ?2, ?3, ?4)
        ON CONFLICT (identifier) DO UPDATE SET version = excluded.version,
          type_name = excluded.type_name, type_version = excluded.type_version
        """)
      saveVersion = try connection.prepare(
        "UPDATE main.dispatchstore_stores SET version = ?2 WHERE number = ?1")
      deleteStore = try connection.prepare(
        "DELETE FROM main.dispatchstore_stores WHERE number = ?1")

      rowsOfPart = try connection.prepare(
        "SELECT key, value FROM main.dispatchstore_rows WHERE store = ?1 AND part = ?2")
      lastPart = try connection.prepare(
        "SELECT ifnull(max(part), 0) FROM main.dispatchstore_rows WHERE store = ?1")
      saveRow = try connection.prepare(
        """
        INSERT INTO main.dispatchstore_rows (store, part, key, value) VALUES (?1, ?2, ?3, ?4)
        ON CONFLICT (store, part, key) DO UPDATE SET value = excluded.value
        """)
      deleteRow = try connection.prepare(
        "DELETE FROM main.dispatchstore_rows WHERE store = ?1 AND part = ?2 AND key = ?3")
      deleteRows = try connection.prepare(
        "DELETE FROM main.dispatchstore_rows WHERE store = ?1")
    }
  }
#endif
