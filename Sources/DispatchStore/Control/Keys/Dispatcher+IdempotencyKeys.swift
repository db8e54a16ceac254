extension Dispatcher {
  /// The idempotency keys whose results are remembered: to bound their number, and to forget one.
  public var idempotencyKeys: IdempotencyKeys { IdempotencyKeys(table: idempotencyTable) }

  var idempotencyTable: IdempotencyTable { attachment(orAdd: IdempotencyTable(clock)) }
}

/// The remembered idempotency keys of a dispatcher, or of all dispatchers that share a persistence.
public struct IdempotencyKeys: Sendable {
  let table: IdempotencyTable

  /// The number of remembered keys; those in flight don't count.
  public var count: Int { table.count }

  /// The greatest number of remembered keys: 100,000, unless you set another one.
  ///
  /// Above it, the keys are forgotten first whose time ends first. A repeat then runs the action again, so let it be
  /// more than your clients can use within the time.
  public var capacity: Int {
    get { table.capacity }
    nonmutating set { table.capacity = newValue }
  }

  /// Forgets a remembered key, so that the next dispatch with it runs.
  ///
  /// Until `Persistence.flush()` has returned, a crash can bring a saved key back.
  ///
  /// - Returns: Whether it was remembered.
  @discardableResult
  public func forget(_ key: some PersistentKey) -> Bool { table.forget(key.persistentText) }
}
