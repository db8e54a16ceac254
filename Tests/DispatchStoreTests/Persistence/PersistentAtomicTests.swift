import DispatchStoreTesting
import Foundation
import Testing

@testable import DispatchStore

@Suite("Atomic actions of persistent stores", .timeLimit(.minutes(10)))
struct PersistentAtomicTests {
  struct Transfer: AtomicAction {
    var amount: Int
    var fails = false
  }

  /// Two persistent stores, of which the second one may fail.
  struct Bank {
    let database = MemoryDatabase()
    let dispatcher = Dispatcher(name: "bank")
    let persistence: Persistence
    let one: WalletStore
    let other: WalletStore

    init() async throws {
      persistence = try await database.open(for: dispatcher)
      one = try await dispatcher.register(
        store: WalletStore(identifier: "one", model: Wallet()) {
          On(Transfer.self) { wallet, transfer in
            wallet.all["a", default: 0] -= transfer.amount
            wallet.note = "\(transfer.amount)"
          }
          On(Balance.self) { wallet, balance in
            Reduction.unchanged()
            return wallet.all[balance.account] ?? 0
          }
        }, persisted: .elements(\.all))
      other = try await dispatcher.register(
        store: WalletStore(identifier: "other", model: Wallet()) {
          On(Transfer.self) { wallet, transfer in
            wallet.all["a", default: 0] += transfer.amount
            if transfer.fails { throw Refused() }
          }
        }, waitFor: [one], persisted: .elements(\.all))
    }

    func run(_ transfer: Transfer, _ way: Way) async -> DispatchResult {
      await dispatcher.run(transfer, way)
    }
  }

  @Test(arguments: Way.all)
  func areOneCommitOfAGroup(way: Way) async throws {
    let bank = try await Bank()
    bank.database.hold()
    for amount in 1...3 {
      await bank.dispatcher.send(
        Transfer(amount: amount), mode: SendModes.like(way.mode), options: .durability(.memory))
    }
    bank.database.release()
    #expect(await bank.run(Transfer(amount: 4), way).isSuccess)
    #expect(bank.database.rows(ofStore: "one", part: 1) == ["a": "-10"])
    #expect(bank.database.rows(ofStore: "other", part: 1) == ["a": "10"])
    #expect(bank.persistence.state.withLock(\.commit.last) == 4)
  }

  @Test(arguments: Way.all)
  func thatAreUndoneSaveNothing(way: Way) async throws {
    let bank = try await Bank()
    #expect(await bank.run(Transfer(amount: 1), way).isSuccess)
    #expect(await !bank.run(Transfer(amount: 5, fails: true), way).isSuccess)
    #expect(bank.one.model.all["a"] == -1)
    #expect(await bank.run(Transfer(amount: 2), way).isSuccess)
    #expect(bank.database.rows(ofStore: "one", part: 1) == ["a": "-3"])
    #expect(bank.database.rows(ofStore: "other", part: 1) == ["a": "3"])
    #expect(bank.one.version == 2)
    #expect(bank.database.version(ofStore: "one") == 2)
  }

  @Test(arguments: Way.all)
  func areRefusedAsAWholeOnceSavingHasFailed(way: Way) async throws {
    let bank = try await Bank()
    bank.database.fail(.inputOutput)
    #expect(await bank.run(Transfer(amount: 1), way).errorCode == .persistenceFailed)
    let result = await bank.run(Transfer(amount: 1), way)
    #expect(result.errorCode == .persistenceFailed)
    #expect(bank.one.model.all["a"] == -1)
    #expect(bank.other.model.all["a"] == 1)
  }

  /// Waits before the stores are locked.
  private final class Slow: Reducer<Wallet, Deposit> {
    private let hasBegun: Latch
    private let goesOn: Latch

    init(_ hasBegun: Latch, _ goesOn: Latch) { (self.hasBegun, self.goesOn) = (hasBegun, goesOn) }

    override func reduce(into model: inout Wallet, action: Deposit) {
      model.all[action.account] = action.amount
    }

    override func shouldNotifyObservers(
      for action: Deposit, in store: Store<Wallet, Deposit>
    ) -> Bool {
      hasBegun.open()
      goesOn.wait()
      return true
    }
  }

  @Test func saveNothingIfAStoreIsReplacedMeanwhile() async throws {
    let (database, dispatcher) = (MemoryDatabase(), Dispatcher(name: "bank"))
    let (hasBegun, goesOn) = (Latch(), Latch())
    try await database.open(for: dispatcher)
    let one = try await dispatcher.register(
      store: Store(identifier: "one", reducer: Slow(hasBegun, goesOn)), persisted: .elements(\.all))
    let other = try await dispatcher.register(store: .wallet("other"), persisted: .elements(\.all))
    let deposit = Deposit(account: "a", amount: 1)
    let handle = dispatcher.dispatch(deposit, mode: .serial, options: .atomic)
    await hasBegun.opened()
    dispatcher.unregister(store: other)
    try await dispatcher.register(store: .wallet("other"), persisted: .elements(\.all))
    goesOn.open()
    #expect(await !handle.result.isSuccess)
    #expect(one.model.all.isEmpty && other.model.all.isEmpty)
    #expect(database.rows(ofStore: "one", part: 1).isEmpty)
    // A repeat goes to the new store.
    #expect(await dispatcher.send(deposit, options: .atomic).result.isSuccess)
    #expect(database.rows(ofStore: "one", part: 1) == ["a": "1"])
    #expect(database.rows(ofStore: "other", part: 1) == ["a": "1"])
  }

  /// The time limit keeps the thread from saving the commit itself.
  @Test(arguments: Way.all)
  func areSavedWhileAnObserverWaitsForThat(way: Way) async throws {
    let bank = try await Bank()
    let results = Recorder<DispatchResult?>()
    let token = bank.one.observe(.model) { [dispatcher = bank.dispatcher] _ in
      let handle = dispatcher.dispatch(
        Balance(account: "a"), mode: .sync, options: .timeout(.seconds(20)))
      results.record(handle.resultIfEnded)
    }
    #expect(await bank.run(Transfer(amount: 1), way).isSuccess)
    #expect(results.all.map { $0?.isSuccess } == [true])
    token.cancel()
  }

  /// A published read shows a commit before the sections are left.
  @Test func areFlushedByWhoeverHasReadThem() async throws {
    for seed in 0..<UInt64(Load.count(200)) {
      var simulation = Simulation(seed: seed, order: .rare(preemptions: 3))
      simulation.switchesAtLocks = true
      let report = await simulation.run { dispatcher in
        let database = MemoryDatabase()
        let persistence = try await database.open(for: dispatcher)
        var stores: [WalletStore] = []
        for identifier in ["one", "other"] {
          let store = WalletStore(identifier: identifier, model: Wallet(), reads: .published) {
            On(Transfer.self) { wallet, transfer in wallet.all["a"] = transfer.amount }
          }
          stores.append(try await dispatcher.register(store: store, persisted: .elements(\.all)))
        }
        let first = stores[0]
        try await withThrowingTaskGroup { group in
          group.addTask { _ = await dispatcher.send(Transfer(amount: 1)) }
          group.addTask {
            while first.model.all.isEmpty { await Task.yield() }
            try await persistence.flush()
            if database.rows(ofStore: "one", part: 1).isEmpty { throw Refused() }
          }
          try await group.waitForAll()
        }
      }
      try #require(report.failure == nil, "\(report)")
    }
  }
}
