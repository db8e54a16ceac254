import Foundation

/// The idempotency keys of a dispatcher; those of a database if its stores are persistent.
final class IdempotencyTable: DispatcherAttachment {
  typealias Table = KeyTable<KeyedDispatch, KeyRecord>

  private let state = Locked(Table(capacity: 100_000))
  private let clock: DispatcherClock
  /// The means to save records; nil without persistence.
  let keeper: CompanionKeeper?

  init(_ clock: DispatcherClock, savedBy keeper: CompanionKeeper? = nil) {
    (self.clock, self.keeper) = (clock, keeper)
  }

  /// The answer of a key; nil if the next dispatch with it is to run.
  func answer(_ key: String) -> Table.Entry? { withTable { $0[key] } }

  /// Begins the dispatch of a key, unless that has an answer.
  ///
  /// - Parameter makeRun: Makes the dispatch, with the table's lock held.
  func begin(_ key: String, _ makeRun: () -> KeyedDispatch) -> Table.Entry? {
    yieldPoint(.join, key)
    return withTable { $0.begin(key, makeRun) }
  }

  func leave(_ keyed: KeyedDispatch) {
    withTable { $0.leave(keyed, keyed.key.text) }
  }

  func record(_ result: DispatchResult, of keyed: KeyedDispatch, isSaved: Bool) {
    let record = KeyRecord(action: keyed.action, outcome: .result(result), isSaved: isSaved)
    let now = clock.nanoseconds
    let (former, trimmed) = state.withLock { table in
      let time = now.addingClamped(keyed.key.period)
      return (table.record(record, keyed.key.text, until: time), table.trim(now: now))
    }
    withExtendedLifetime(former) {}
    removeRows(of: trimmed)
  }

  /// Adds a record that was loaded.
  func restore(_ record: KeyRecord, _ key: String, expiresAt milliseconds: Int64) {
    let (unix, overflows) = milliseconds.multipliedReportingOverflow(by: 1_000_000)
    let left = overflows ? .max : unix.addingClamped(-clock.unixNanoseconds)
    let time = clock.nanoseconds.addingClamped(left)
    _ = state.withLock { $0.record(record, key, until: time) }
  }

  /// Forgets a recorded key; returns whether it was recorded.
  func forget(_ key: String) -> Bool {
    guard let entry = withTable({ $0.forget(key) }) else { return false }
    // Not with the next commit only: whoever flushes must find it gone.
    removeRows(of: [(key, entry)], atOnce: true)
    return true
  }

  /// Calls a closure with the table, without what has expired or is too much.
  private func withTable<Result>(_ body: (inout Table) -> Result) -> Result {
    let now = clock.nanoseconds
    let (trimmed, result) = state.withLock { ($0.trim(now: now), body(&$0)) }
    removeRows(of: trimmed)
    return result
  }

  /// Whether a row was saved for the present entry of a key, or is about to be.
  private func hasRow(_ key: String) -> Bool {
    switch state.withLock({ $0[key] }) {
    case nil: false
    case .inFlight(let run): run.hasRow
    case .recorded(let record, _): record.isSaved
    }
  }

  private func removeRows(
    of entries: [(key: String, entry: Table.Entry)], atOnce: Bool = false
  ) {
    guard let keeper, !entries.isEmpty else { return }
    let rows = entries.compactMap { key, entry -> CompanionRow? in
      guard case .recorded(let record, _) = entry, record.isSaved else { return nil }
      return CompanionRow(kind: .idempotencyKey, key: key.inFormC, value: nil) { [weak self] in
        // The next dispatch with the key may have committed a row of its own meanwhile.
        isPlanted(.nextRowRemoved) || self?.hasRow(key) == false
      }
    }
    if rows.isEmpty { return }
    yieldPoint(.removeKeys)
    if atOnce { keeper.save(rows) } else { keeper.saveWithNext(rows) }
  }

  // MARK: Facts

  var count: Int { state.withLock(\.count) }

  var capacity: Int {
    get { state.withLock(\.capacity) }
    set {
      let now = clock.nanoseconds
      let trimmed = state.withLock { table in
        // Nothing is forgotten by the former number.
        table.capacity = max(newValue, 0)
        return table.trim(now: now)
      }
      removeRows(of: trimmed)
    }
  }

  func unixMilliseconds(after period: Int64) -> Int64 {
    clock.unixNanoseconds.addingClamped(period) / 1_000_000
  }

  /// Calls back once everything is saved that was committed before; false if that has failed.
  func whenSaved(_ body: @escaping @Sendable (Bool) -> Void) {
    if let keeper { keeper.whenSaved(body) } else { body(true) }
  }
}
