import Foundation

extension Persistence {
  /// The means to save the idempotency keys of its dispatchers.
  var keyKeeper: KeyKeeper {
    let coder = coder
    return KeyKeeper(
      codec: KeyCodec(
        encode: { try coder.encode($0) }, decode: { try Self.decode($0, $1, by: coder) }),
      remove: { [weak self] rows in self?.state.withLock { $0.work.add(rows) } },
      whenSaved: { [weak self] body in
        guard let self else { return body(false) }
        afterSaving { body($0 == nil) }
      })
  }

  private static func decode<Value: Decodable & Sendable>(
    _ type: Value.Type, _ data: Data, by coder: any PersistenceCoder
  ) throws -> any Sendable {
    try coder.decode(type, from: data)
  }

  /// Takes over the rows that were found when the database was opened.
  func restore(_ rows: [FoundRow]) throws {
    for row in rows {
      switch row.kind {
      case .idempotencyKey:
        let key = try decode(KeyRow.self, row, "the record of the idempotency key")
        keyTable.restore(
          KeyRecord(
            action: KeyedAction(saved: key.value, named: key.action), outcome: .saved(key.outcome),
            isSaved: true), row.key, expiresAt: key.expires)
      }
    }
  }

  private func decode<Row: Decodable>(
    _ type: Row.Type, _ row: FoundRow, _ name: String
  ) throws -> Row {
    do {
      return try coder.decode(type, from: row.value)
    } catch {
      throw PersistenceError(
        .notDecodable,
        """
        \(writer.driver.description), table dispatchstore_rows, store "\(WorkRows.storeIdentifier)", part \
        \(row.kind.rawValue), key "\(row.key)": \(name) can't be decoded\(RowCoder.place(of: error)). Nothing was \
        changed. Repair or remove the row.
        """, cause: error)
    }
  }
}
