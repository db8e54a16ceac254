extension Store where Model: Codable {
  /// Returns an element once its changes are saved: for most elements, at once.
  ///
  ///     let order = try await orders.savedElement(\.all, id)
  ///
  /// You can send out the returned element, since no crash undoes it. `Persistence.flush()` waits for all commits that came
  /// before; this does so only if a change of the element is among those that are not saved. While
  /// `PersistenceStatus.isLeaseOver`, another process may have saved a newer element.
  ///
  /// - Parameters:
  ///   - path: A dictionary that the store is registered with, as in `persisted: .elements(\.all)`. For another one, it
  ///     waits for all commits of the store.
  ///   - key: The element's key.
  ///   - limit: The longest time to wait for a database that is locked, full or away; nil to wait until it is back.
  /// - Returns: The element, or nil if its absence is saved. If the store is not saved in a database, the present one.
  /// - Throws: A `PersistenceError` if a change of the element can't be saved. Once saving has failed and the store has
  ///   changed since, each element throws it. A `DispatchError` with the code `timedOut` after the limit, and
  ///   `CancellationError` if the task is cancelled while it waits.
  public func savedElement<Key: PersistentKey, Value: Sendable & Codable>(
    _ path: any KeyPath<Model, TrackedDictionary<Key, Value>> & Sendable, _ key: Key,
    timeout limit: Duration? = nil
  ) async throws -> Value? {
    let (element, record, version) = elementAndRecord(path, key)
    guard let record, version > record.savedVersion.now else { return element }
    // Not by a flush, which also throws for changes that other stores have lost.
    let persistence = record.persistence
    try await SavingWait(for: persistence).run(
      within: SavingWait.Limit(limit, persistence.clock))
    guard version <= record.savedVersion.now else {
      throw PersistenceError(
        .alreadyRegistered,
        """
        Store "\(identifier)": another store has been registered under its identifier, so what was read is not saved.
        """)
    }
    return element
  }

  /// Returns an element, the record that saves the store, if there is one, and the version of the element's last change.
  ///
  /// All of one moment: if the store is registered again, its model and its record are replaced together.
  private func elementAndRecord<Key: PersistentKey, Value: Sendable & Codable>(
    _ path: any KeyPath<Model, TrackedDictionary<Key, Value>> & Sendable, _ key: Key
  ) -> (element: Value?, record: PersistedStore<Model, Action>?, version: UInt64) {
    let thread = ThreadState.current
    storage.lockToRead(on: thread)
    defer { storage.unlockUnchanged(on: thread) }
    let record = storage.keeper as? PersistedStore<Model, Action>
    return (
      storage.model.pointee[keyPath: path][key], record, record?.lastChange(of: key, in: path) ?? 0
    )
  }
}
