import DispatchStoreTesting
import Foundation

@testable import DispatchStore

struct Wallet: ModelType, Codable, Equatable {
  var all = TrackedDictionary<String, Int>()
  var note = ""

  static func == (one: Wallet, other: Wallet) -> Bool {
    one.all.dictionary == other.all.dictionary && one.note == other.note
  }
}

struct Deposit: ActionType {
  let account: String
  let amount: Int
}

struct Close: ActionType { let account: String }
struct SetNote: ActionType { let note: String }
struct ReplaceAll: ActionType { let all: [String: Int] }

struct Balance: ActionType {
  typealias Reply = Int
  let account: String
}

struct Refused: Error {}
struct FailingDeposit: ActionType { let account: String }

/// A block of a store that waits until it is told to go on.
struct SlowDeposit: ActionType {
  let account: String
  let latch: Latch
  let began = Latch()
}

typealias WalletStore = Store<Wallet, HandledAction>

extension Store where Model == Wallet, Action == HandledAction {
  static func wallet(_ identifier: String = "wallet", _ wallet: Wallet = Wallet()) -> WalletStore {
    Store(identifier: identifier, model: wallet) {
      On(Deposit.self) { wallet, deposit in
        wallet.all[deposit.account, default: 0] += deposit.amount
      }
      On(Close.self) { wallet, close in wallet.all[close.account] = nil }
      On(SetNote.self) { wallet, action in wallet.note = action.note }
      On(ReplaceAll.self) { wallet, action in wallet.all = TrackedDictionary(action.all) }
      On(Balance.self) { wallet, balance in
        Reduction.unchanged()
        return wallet.all[balance.account] ?? 0
      }
      On(FailingDeposit.self) { wallet, action in
        wallet.all[action.account] = -1
        throw Refused()
      }
      Perform(SlowDeposit.self) { deposit, context in
        deposit.began.open()
        await deposit.latch.opened()
        try context.updateModel { $0.all[deposit.account, default: 0] += 1 }
      }
    }
  }
}

/// Calls a closure once, before it encodes a value.
struct HookedCoder: PersistenceCoder {
  let hook = Locked<(@Sendable () throws -> Void)?>(nil)
  private let coder = JSONPersistenceCoder()

  func encode(_ value: some Encodable) throws -> Data {
    try hook.exchange(nil)?()
    return try coder.encode(value)
  }

  func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
    try coder.decode(type, from: data)
  }
}

/// A dispatcher with a persistent store, and the database in memory that it is saved in.
final class PersistenceStage: Sendable {
  let database: MemoryDatabase
  let dispatcher: Dispatcher
  let persistence: Persistence
  let wallet: WalletStore
  let log = Recorder<String>()
  let warnings = Recorder<DispatchWarning>()

  init(
    on database: MemoryDatabase = MemoryDatabase(), limits: PersistenceLimits = .suspending(),
    coder: any PersistenceCoder = JSONPersistenceCoder(),
    form: PersistedForm<Wallet> = .elements(\.all), clock: (any Clock<Duration>)? = nil,
    holds: Bool = false
  ) async throws {
    self.database = database
    dispatcher = Dispatcher(name: "bank", clock: clock)
    let warnings = warnings
    dispatcher.onWarning { warnings.record($0) }
    persistence = try await database.open(for: dispatcher, coder: coder, limits: limits)
    wallet = try await dispatcher.register(store: .wallet(), persisted: form)
    if holds { database.hold() }
  }

  /// Dispatches an action, and records its end.
  @discardableResult
  func run(
    _ action: some ActionType, _ way: Way, _ name: String = "ended",
    options: DispatchOptions = []
  ) -> Task<DispatchResult, Never> {
    dispatcher.begin(action: action, way.mode, options, sends: way.sends) { [log] _ in
      log.record(name)
    }
  }

  /// Waits until the store has a version.
  func reached(_ version: UInt64) async {
    // With the default buffering, a model may be newer than the change's version.
    let changes = wallet.stream(.model, initial: true, buffering: .unbounded)
    for await change in changes where change.version >= version { return }
  }

  /// Registers the store again after another one has had its identifier, so that its state is loaded.
  ///
  /// - Parameter replaced: Called while the other one is registered.
  func reload(
    form: PersistedForm<Wallet> = .elements(\.all), as type: PersistedType? = nil,
    whileReplaced replaced: () async -> Void = {}
  ) async throws {
    dispatcher.unregister(store: wallet)
    let other = try await dispatcher.register(store: .wallet(), persisted: form)
    await replaced()
    dispatcher.unregister(store: other)
    try await dispatcher.register(store: wallet, persisted: form, as: type)
  }

  /// Lets the database go on, and waits until all is saved.
  func save() async throws {
    database.release()
    try await persistence.flush()
  }

  var saved: [String: String] { database.rows(ofStore: "wallet", part: 1) }
}

extension Persistence {
  /// Whether dispatches wait because too much is unsaved.
  var holdsDispatchesBack: Bool { state.withLock { !$0.commit.heldBack.isEmpty } }
}

extension Dispatcher.Mode {
  /// Whether the mode has an order.
  var isInLane: Bool { !isSync && !isAsync }
}
