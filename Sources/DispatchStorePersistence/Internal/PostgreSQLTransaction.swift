#if PostgreSQL || SIMULATION
  import DispatchStore
  import Foundation

  /// The changes of a transaction that are not sent yet.
  final class PostgreSQLTransaction {
    let owner: PersistenceOwner
    /// Whether the server knows of it.
    private(set) var hasBegun: Bool
    private var first: [PostgreSQLStatement]
    /// The stores' new versions, by number.
    var versions: [Int64: UInt64] = [:]
    private var rows: [Place: Data?] = [:]
    /// The size of these rows.
    private(set) var byteCount = 0
    /// The index of the comparison with the owner in the statements that were taken last; nil if they have none.
    private(set) var fenceIndex: Int?
    /// The index of the statement that saves versions in them.
    private(set) var versionsIndex: Int?

    private struct Place: Hashable {
      let store: Int64
      let row: SavedRow
    }

    /// - Parameter first: The statements before all others, of which the last compares the owner.
    init(_ owner: PersistenceOwner, _ first: [PostgreSQLStatement], hasBegun: Bool = false) {
      (self.owner, self.first, self.hasBegun) = (owner, first, hasBegun)
    }

    func save(_ value: Data?, at row: SavedRow, ofStore number: Int64) {
      rows.updateValue(value, forKey: Place(store: number, row: row))
      // With what the numbers and lengths of a row take.
      byteCount += row.key.utf8.count + (value?.count ?? 0) + 64
    }

    /// Takes the statements for what is not sent yet.
    func takeStatements() -> [PostgreSQLStatement] {
      var statements = first
      fenceIndex = first.isEmpty ? nil : first.count - 1
      versionsIndex = nil
      if !versions.isEmpty {
        versionsIndex = statements.count
        statements.append(.saveVersions(versions))
      }
      let saved = rows.filter { $0.value != nil }
      if saved.count < rows.count {
        statements.append(
          .deleteRows(rows.filter { $0.value == nil }.map { ($0.key.store, $0.key.row) }))
      }
      if !saved.isEmpty {
        statements.append(.saveRows(saved.map { ($0.key.store, $0.key.row, $0.value!) }))
      }
      (first, versions, rows, byteCount, hasBegun) = ([], [:], [:], 0, true)
      return statements
    }
  }
#endif
