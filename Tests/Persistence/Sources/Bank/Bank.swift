import DispatchStore
import Programs

/// The dispatcher with its four stores, opened as a user does it.
struct Bank: Sendable {
  let persistence: Persistence
  let dispatcher: Dispatcher
  let giro: BankStore<Giro>, savings: BankStore<Giro>
  let till: BankStore<Till>
  let ledger: BankStore<Ledger>

  static let storeNames = ["giro", "savings", "till", "ledger"]

  init(_ database: PersistenceDatabase) async throws {
    persistence = try await Persistence(database)
    dispatcher = Dispatcher(name: "bank", persistence: persistence)
    dispatcher.onWarning { say("warning \($0.kind): \($0.message)") }
    giro = try await dispatcher.register(
      store: makeStore("giro", Giro()), persisted: .elements(\.all))
    savings = try await dispatcher.register(
      store: makeStore("savings", Giro()), persisted: .elements(\.all))
    till = try await dispatcher.register(store: makeStore("till", Till()), persisted: .model)
    ledger = try await dispatcher.register(
      store: makeStore("ledger", Ledger()), persisted: .elements(\.balances, \.entries))
    for store in [giro, savings] {
      try await project(store) { changes in
        (
          changes.elements(\.all)?.map { ($0.key, $0.new?.balance) },
          changes.replacement(of: \.all)?.mapValues(\.balance)
        )
      }
    }
    try await project(ledger) { changes in
      (changes.elements(\.balances)?.map { ($0.key, $0.new) }, changes.replacement(of: \.balances))
    }
    try await project(till) { (nil, $0.model.accounts.mapValues(\.balance)) }
  }

  /// Keeps a row for each account, with its balance and the version.
  private func project<Model: Books>(
    _ store: BankStore<Model>,
    _ read:
      @escaping @Sendable (PersistedChanges<Model, HandledAction>) -> (
        elements: [(Int, Int?)]?, all: [Int: Int]?
      )
  ) async throws {
    let name = store.identifier
    persistence.project(store) { changes, transaction in
      let version = Int(changes.commits.last!.version)
      guard changes.model.commits == version else { throw Mismatch(changes.model.commits, version) }
      let (elements, all) = read(changes)
      try transaction.execute(
        """
        CREATE TABLE IF NOT EXISTS balances \
        (store TEXT, key INTEGER, balance INTEGER, version INTEGER, PRIMARY KEY (store, key))
        """)
      if all != nil { try transaction.execute("DELETE FROM balances WHERE store = ?", name) }
      for (key, balance) in all?.map({ ($0, Optional($1)) }) ?? elements ?? [] {
        if let balance {
          try transaction.execute(
            "REPLACE INTO balances VALUES (?, ?, ?, ?)", name, key, balance, version)
        } else {
          try transaction.execute("DELETE FROM balances WHERE store = ? AND key = ?", name, key)
        }
      }
    }
  }

  struct Mismatch: Error {
    let commits: Int, version: Int
    init(_ commits: Int, _ version: Int) { (self.commits, self.version) = (commits, version) }
  }
}
