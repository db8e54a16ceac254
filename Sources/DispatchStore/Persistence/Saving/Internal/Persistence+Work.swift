import Foundation

extension Persistence {
  /// The means of its dispatchers to save idempotency keys and other work.
  var companionKeeper: CompanionKeeper {
    let (coder, actions) = (coder, actions)
    return CompanionKeeper(
      decode: { try coder.decode($0, from: $1) },
      hasAll: { value, saved in
        guard let former = try? coder.decode(PlainValue.self, from: saved),
          let present = try? coder.decode(PlainValue.self, from: coder.encode(value))
        else { return false }
        return present.hasAll(of: former)
      },
      decodeAction: { try coder.decode(actions.actionType(named: $0.name), from: $0.value.data) },
      name: { actions.savedName(of: $0) },
      actionType: { try? actions.actionType(named: $0) },
      obstacle: { actions.obstacle($0) },
      save: { [weak self] in self?.keep($0) },
      saveWithNext: { [weak self] rows in
        self?.state.withLockReleasing { $0.keep(rows) }
      },
      whenSaved: { [weak self] body in
        guard let self else { return body(false) }
        afterSaving { body($0 == nil) }
      },
      whenOwner: { [weak self] body in
        if let self { whenOwner(body) } else { body(false) }
      },
      hasFailed: { [weak self] in self?.state.withLock { $0.commit.failure != nil } ?? true })
  }

  /// The means to encode what its dispatchers save so.
  var companionEncoder: CompanionEncoder {
    CompanionEncoder(
      encode: { try self.coder.encode($0) },
      name: { self.actions.savedName(of: $0) },
      report: { description, error in
        self.report(
          .notEncodable,
          """
          \(description) can't be encoded\(RowCoder.place(of: error)): \(error). Its row was saved without the value.
          """)
      })
  }

  /// Takes over the rows that were found when the database was opened.
  func restore(_ rows: [FoundRow]) throws {
    let keeper = companionKeeper
    var work: [String: OutboxEntry] = [:]
    var schedules: [String: ScheduleLetter] = [:]
    for row in rows {
      switch row.kind {
      case .idempotencyKey:
        let key = try decode(KeyRow.self, row, "the record of the idempotency key")
        keyTable.restore(
          KeyRecord(
            action: .saved(name: key.action, key.value), outcome: .saved(key.outcome),
            isSaved: true), row.key, expiresAt: key.expires)
      case .effect:
        let found = try decode(OutboxRow.self, row, "the work of a durable effect")
        let entry = OutboxEntry(found, row.key, by: keeper, clock)
        work[entry.key] = entry
      case .schedule:
        let found = try decode(ScheduleRow.self, row, "the scheduled action")
        let (action, error) = keeper.decoded(found.action)
        var letter: ScheduleLetter = found.with(action)
        letter.error = error ?? letter.error
        schedules[row.key] = letter
      }
    }
    let lastNumber = work.values.map(\.number).max() ?? 0
    foundWork.withLock { ($0.entries, $0.lastNumber) = (work, max(lastNumber, 0)) }
    foundSchedules.withLock { $0.letters = schedules }
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

extension CompanionKeeper {
  /// Decodes an action that an earlier process has left; nil, and the reason, if it can't.
  ///
  /// The row stays as it is then: the next deployment may know the action again.
  fileprivate func decoded(_ action: SavedAction) -> (action: (any ActionType)?, error: String?) {
    do {
      return (try decodeAction(action), nil)
    } catch {
      return (nil, "Its action can't be decoded: \(error)")
    }
  }
}

extension OutboxEntry {
  /// Makes the entry of work that an earlier process has left.
  fileprivate convenience init(
    _ row: OutboxRow, _ key: String, by keeper: CompanionKeeper, _ clock: DispatcherClock
  ) {
    let (action, error) = keeper.decoded(row.action)
    let progress = Progress(
      attempts: row.attempts, error: error ?? row.error,
      failed: row.failed ?? error.map { _ in clock.unixMilliseconds }, wasLeft: true)
    self.init(
      isPlanted(.changedKey) ? "\(key)-" : key, of: row.effect, row.dispatcher, row.number, action,
      progress)
  }
}
