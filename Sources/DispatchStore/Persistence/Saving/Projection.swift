/// The changes that the commits of one group have made to one store.
public struct PersistedChanges<Model: Sendable & Codable, Action: ActionType> {
  let batch: StoreBatch<Model, Action>

  /// The commits, in order.
  public var commits: [StoreCommit<Action>] { batch.commits }

  /// The model after the commits; the dictionaries whose elements are rows are empty.
  public var model: Model { batch.model }

  /// The elements of a dictionary that the commits have changed, each once, with its values before and after them.
  ///
  /// Nil if its changes are not known: take `replacement(of:)` then. Mostly it was assigned as a whole. Another reason is
  /// one commit that has inserted and removed very many elements.
  ///
  /// - Precondition: The dictionary is one of those that the store is registered with.
  public func elements<Key: PersistentKey, Value: Sendable & Codable>(
    _ path: any WritableKeyPath<Model, TrackedDictionary<Key, Value>> & Sendable
  ) -> [(key: Key, old: Value?, new: Value?)]? {
    let changes = changes(of: path)
    return changes.whole == nil ? changes.elements.map { ($0.key, $0.old, $0.new) } : nil
  }

  /// All elements of a dictionary whose changes are not known; nil if `elements(_:)` has them.
  public func replacement<Key: PersistentKey, Value: Sendable & Codable>(
    of path: any WritableKeyPath<Model, TrackedDictionary<Key, Value>> & Sendable
  ) -> [Key: Value]? {
    let changes = changes(of: path)
    guard var whole = changes.whole else { return nil }
    for element in changes.elements { whole[element.key] = element.new }
    return whole
  }

  private func changes<Key: PersistentKey, Value: Sendable & Codable>(
    of path: any WritableKeyPath<Model, TrackedDictionary<Key, Value>> & Sendable
  ) -> DictionaryBatch<Model, Key, Value> {
    for case let changes as DictionaryBatch<Model, Key, Value> in batch.parts
    where changes.part.path as AnyKeyPath == path {
      return changes
    }
    stopProgram(
      """
      \(path) is no dictionary whose elements are rows of store "\(batch.record.identifier)". Register the store \
      with persisted: .elements(…) and this path.
      """)
  }
}

/// The transaction of a group of commits, for rows of your own.
public struct DatabaseTransaction: ~Copyable {
  private let driver: any PersistenceDriver

  init(_ driver: any PersistenceDriver) { self.driver = driver }

  /// Runs a statement, and returns the number of rows that it has changed.
  ///
  ///     try transaction.execute("INSERT INTO mail (order_id, text) VALUES (?, ?)", order.id, text)
  ///
  /// Pass values as parameters: SQLite then prepares the text once, and keeps it.
  @discardableResult
  public func execute(_ sql: String, _ values: (any DatabaseValueConvertible)...) throws -> Int {
    try driver.execute(sql, values.map(\.databaseValue))
  }

  /// Runs a query, and returns its rows.
  public func query(
    _ sql: String, _ values: (any DatabaseValueConvertible)...
  ) throws -> [[DatabaseValue]] {
    try driver.query(sql, values.map(\.databaseValue))
  }
}

/// A user's closure that writes rows with each group.
final class Projection<Model: Sendable & Codable, Action: ActionType>: Sendable {
  typealias Body =
    @Sendable (PersistedChanges<Model, Action>, borrowing DatabaseTransaction) throws -> Void

  private let body: Body
  /// Stands for the code, as if it ran in the exclusive section of a store: it must wait for nothing.
  private let section: StoreStorage

  init(of storeIdentifier: String, _ body: @escaping Body) {
    self.body = body
    section = StoreStorage(identifier: "\(storeIdentifier), in a projection")
  }

  func run(_ batch: StoreBatch<Model, Action>, _ driver: any PersistenceDriver) throws {
    let thread = ThreadState.current
    thread.exclusive = section
    defer {
      thread.exclusive = nil
      thread.endSection()
    }
    try body(PersistedChanges(batch: batch), DatabaseTransaction(driver))
  }
}

extension Persistence {
  /// Writes rows of your own in the transaction that saves a store's commits.
  ///
  ///     persistence.project(orders) { changes, transaction in
  ///       for (id, _, order) in changes.elements(\.all) ?? [] where order?.isPaid == true {
  ///         try transaction.execute("INSERT INTO paid VALUES (?) ON CONFLICT DO NOTHING", id)
  ///       }
  ///     }
  ///
  /// The closure is called once for each group of commits, in their order, on the thread that writes. It is called again
  /// if the transaction is tried again, so it must change nothing but rows. It can't dispatch with `.sync`, wait for a
  /// dispatch, or read a store, which is ahead of the group. If it throws, saving ends with the code `projection`. It
  /// stays as long as the store, also if you register that again, with this persistence or another one: add it once.
  /// Another store of its identifier has none.
  /// If you register the store in another form then, name the dictionaries that the closure asks for, or the next commit
  /// stops the program.
  ///
  /// - Precondition: The store is registered as persistent with this persistence.
  public func project<Model: Sendable & Codable, Action: ActionType>(
    _ store: Store<Model, Action>,
    _ body:
      @escaping @Sendable (
        PersistedChanges<Model, Action>, borrowing DatabaseTransaction
      ) throws -> Void
  ) {
    guard let record = store.storage.presentKeeper as? PersistedStore<Model, Action>,
      record.persistence === self
    else {
      stopProgram(
        """
        Store "\(store.identifier)" is not saved by this persistence: register it with persisted: before you add a \
        projection.
        """)
    }
    let projection = Projection<Model, Action>(of: record.identifier, body)
    state.withLock { _ in record.projections.append(projection) }
  }
}
