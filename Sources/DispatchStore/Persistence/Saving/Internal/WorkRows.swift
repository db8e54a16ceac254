import Foundation

/// The rows of idempotency keys and other work that commits have left, until a group takes them.
///
/// They are the rows of a store of the library's own, whose parts are the kinds of rows.
struct WorkRows {
  /// The identifier of that store in the database.
  static let storeIdentifier = "dispatchstore.work"

  /// In the order in which they were changed first.
  private var changed: [(row: SavedRow, value: (any CompanionValue)?)] = []
  private var indices: [SavedRow: Int] = [:]
  /// The values that commits have replaced in the exclusive sections of stores, to be released with the group.
  var replaced: [any CompanionValue] = []

  var isEmpty: Bool { changed.isEmpty }

  /// Adds rows; returns the values that they replace.
  mutating func add(_ rows: [CompanionRow]) -> [any CompanionValue] {
    var replaced: [any CompanionValue] = []
    for row in rows where row.isCurrent?() != false {
      let place = SavedRow(part: row.kind.rawValue, key: row.key)
      guard let index = indices.updateValue(changed.count, forKey: place) else {
        changed.append((place, row.value))
        continue
      }
      indices[place] = index
      if let former = changed[index].value { replaced.append(former) }
      changed[index].value = row.value
    }
    return replaced
  }

  /// Encodes the rows, outside of locks.
  ///
  /// - Parameter driver: The database that they are for, whose lease is kept meanwhile.
  func encoded(
    by encoder: CompanionEncoder, for driver: any PersistenceDriver
  ) throws -> EncodedRows {
    EncodedRows(
      changed: try changed.map { row, value in
        let data = try value.map { value in
          driver.keepLease()
          return try RowCoder.row({ try value.encoded(by: encoder) }) {
            "\(driver.description): \(value.description)"
          }
        }
        return (row, data)
      })
  }

  /// Writes encoded rows in the current transaction, as those of a store, which is made if there is none.
  ///
  /// - Parameter number: The number of that store, which is looked up if it is nil.
  static func write(
    _ rows: EncodedRows, _ driver: any PersistenceDriver, ofStore number: inout Int64?
  ) throws {
    if rows.changed.isEmpty { return }
    let new = SavedStore(version: 0, typeName: storeIdentifier, typeVersion: 1)
    let found =
      try number ?? driver.store(storeIdentifier)?.number ?? driver.save(new, storeIdentifier)
    // Fails if somebody has removed the store since it was looked up: nobody would find its rows.
    try driver.save(version: new.version, ofStore: found)
    try rows.write(driver, ofStore: found)
    number = found
  }
}

/// A row as it was found when the database was opened.
struct FoundRow: Sendable {
  let kind: CompanionRow.Kind
  let key: String
  let value: Data
}

extension FoundRow {
  /// Reads the rows, in the current transaction.
  static func all(_ driver: any PersistenceDriver) throws -> [FoundRow] {
    guard let store = try driver.store(WorkRows.storeIdentifier) else { return [] }
    var rows: [FoundRow] = []
    for kind in CompanionRow.Kind.allCases {
      try driver.forEachRow(ofStore: store.number, part: kind.rawValue) {
        rows.append(FoundRow(kind: kind, key: $0, value: $1))
      }
    }
    return rows
  }
}

extension Persistence {
  /// Keeps rows as a commit of their own.
  func keep(_ rows: [CompanionRow]) {
    let replaced = state.withLock { state in
      state.commit.note()
      return state.keep(rows)
    }
    requestWriter()
    withExtendedLifetime(replaced) {}
  }
}
