import DispatchStoreTesting
import Foundation
import Testing

@testable import DispatchStore

/// A model that keeps something, of which nothing is saved.
private struct Keeping: ModelType, Codable {
  var kept: Mortal?

  init() {}
  init(from decoder: any Decoder) throws {}
  func encode(to encoder: any Encoder) throws { _ = encoder.container(keyedBy: Key.self) }
  private enum Key: CodingKey {}
}

@Suite("The state of persistent stores", .timeLimit(.minutes(10)))
struct PersistentStateTests {
  static let forms: [PersistedForm<Wallet>] = [.model, .elements(\.all)]

  @Test(arguments: 0..<2)
  func isLoadedWithItsVersion(form: Int) async throws {
    let database = MemoryDatabase()
    let stage = try await PersistenceStage(on: database, form: Self.forms[form])
    for account in ["a", "b", "c"] {
      await stage.dispatcher.send(Deposit(account: account, amount: 5))
    }
    await stage.dispatcher.send(Close(account: "b"))
    await stage.dispatcher.send(SetNote(note: "x"))
    let (model, version) = (stage.wallet.model, stage.wallet.version)
    database.crash()
    let next = try await PersistenceStage(on: database, form: Self.forms[form])
    #expect(next.wallet.model == model)
    #expect(next.wallet.version == version)
    #expect(await next.dispatcher.send(Deposit(account: "a", amount: 1)).result.isSuccess)
    #expect(next.wallet.version == version + 1)
    #expect(next.wallet.model.all["a"] == 6)
  }

  @Test func thatWasGivenFirstIsSaved() async throws {
    let database = MemoryDatabase()
    let dispatcher = Dispatcher(name: "bank")
    try await database.open(for: dispatcher)
    let wallet = Wallet(all: TrackedDictionary(["a": 1, "b": 2]), note: "first")
    try await dispatcher.register(store: .wallet("wallet", wallet), persisted: .elements(\.all))
    #expect(database.rows(ofStore: "wallet", part: 1) == ["a": "1", "b": "2"])
    database.crash()
    let stage = try await PersistenceStage(on: database)
    #expect(stage.wallet.model == wallet)
  }

  @Test func ofADictionaryAssignedAsAWholeIsComparedWithItsRows() async throws {
    let database = MemoryDatabase()
    let stage = try await PersistenceStage(on: database)
    for account in ["a", "b", "c"] {
      await stage.dispatcher.send(Deposit(account: account, amount: 5))
    }
    await stage.dispatcher.send(ReplaceAll(all: ["a": 5, "b": 6, "d": 7]))
    #expect(stage.saved == ["a": "5", "b": "6", "d": "7"])
    // And together with changes before and after, in one group.
    database.hold()
    await stage.dispatcher.send(Deposit(account: "a", amount: 1), options: .durability(.memory))
    await stage.dispatcher.send(Deposit(account: "e", amount: 1), options: .durability(.memory))
    await stage.dispatcher.send(ReplaceAll(all: ["x": 1, "y": 2]), options: .durability(.memory))
    await stage.dispatcher.send(Deposit(account: "y", amount: 1), options: .durability(.memory))
    await stage.dispatcher.send(Close(account: "x"), options: .durability(.memory))
    try await stage.save()
    #expect(stage.saved == ["y": "3"])
  }

  @Test func thatChangedSeveralTimesInOneGroupIsWrittenOnce() async throws {
    let stage = try await PersistenceStage(holds: true)
    await stage.dispatcher.send(Deposit(account: "a", amount: 1), options: .durability(.memory))
    let first = stage.database.stepCount
    for _ in 1...100 {
      await stage.dispatcher.send(Deposit(account: "a", amount: 1), options: .durability(.memory))
    }
    try await stage.save()
    #expect(stage.saved == ["a": "101"])
    // Begin, version, row and commit, of at most three groups.
    #expect(stage.database.stepCount - first <= 12)
  }

  @Test func thatObserversAreNotToldOfIsSaved() async throws {
    final class Quiet: Reducer<Wallet, Deposit> {
      override func reduce(into model: inout Wallet, action: Deposit) {
        model.all[action.account] = action.amount
      }
      override func shouldNotifyObservers(for action: Deposit, in store: Store<Wallet, Deposit>)
        -> Bool
      { false }
    }
    let (database, dispatcher) = (MemoryDatabase(), Dispatcher(name: "bank"))
    try await database.open(for: dispatcher)
    let store = try await dispatcher.register(
      store: Store(identifier: "quiet", reducer: Quiet()), persisted: .elements(\.all))
    let seen = Recorder<UInt64>()
    let token = store.observe(.model) { seen.record($0.version) }
    defer { token.cancel() }
    await dispatcher.send(Deposit(account: "a", amount: 1))
    #expect(database.rows(ofStore: "quiet", part: 1) == ["a": "1"])
    #expect(seen.all.isEmpty)
  }

  @Test func outsideOfDispatchesIsSavedInOrderAndAwaitedByFlush() async throws {
    let stage = try await PersistenceStage()
    for number in 1...10 { stage.wallet.updateModel { $0.all["a"] = number } }
    stage.wallet.inject(model: Wallet(all: ["b": 1], note: "injected"))
    try await stage.persistence.flush()
    #expect(stage.saved == ["b": "1"])
    #expect(stage.database.version(ofStore: "wallet") == 11)
  }

  /// Nobody else asks for that while the observer is called.
  @Test(.timeLimit(.minutes(1)))
  func outsideOfDispatchesIsSavedWhileTheObserverOfAStoreGroupWaitsForThat() async throws {
    let (coder, isSaving) = (HookedCoder(), Latch())
    let stage = try await PersistenceStage(coder: coder)
    coder.hook.withLock { $0 = { isSaving.open() } }
    let token = StoreGroup(stage.wallet, CounterStore.counter()).observe { _ in isSaving.wait() }
    await onOwnThread { [wallet = stage.wallet] in wallet.updateModel { $0.all["a"] = 1 } }
    token.cancel()
  }

  @Test func roundTripsExactly() async throws {
    struct Value: Codable, Sendable, Equatable {
      var date = Date(timeIntervalSinceReferenceDate: 718_281_828.459_045_2)
      var numbers: [Double] = [.infinity, -.infinity, 0.1 + 0.2, .leastNonzeroMagnitude, -0.0]
      var float: Float = 0.1
      var whole = (UInt64.max, Int64.min)
      var data = Data([0, 1, 255])
      var text = "a/\u{0}\"é\u{1F600}"

      enum CodingKeys: String, CodingKey { case date, numbers, float, first, second, data, text }
      init() {}
      init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        date = try values.decode(Date.self, forKey: .date)
        numbers = try values.decode([Double].self, forKey: .numbers)
        float = try values.decode(Float.self, forKey: .float)
        whole.0 = try values.decode(UInt64.self, forKey: .first)
        whole.1 = try values.decode(Int64.self, forKey: .second)
        data = try values.decode(Data.self, forKey: .data)
        text = try values.decode(String.self, forKey: .text)
      }
      func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(date, forKey: .date)
        try values.encode(numbers, forKey: .numbers)
        try values.encode(float, forKey: .float)
        try values.encode(whole.0, forKey: .first)
        try values.encode(whole.1, forKey: .second)
        try values.encode(data, forKey: .data)
        try values.encode(text, forKey: .text)
      }
      static func == (one: Value, other: Value) -> Bool {
        one.date == other.date && one.numbers == other.numbers && one.float == other.float
          && one.whole == other.whole && one.data == other.data && one.text == other.text
      }
    }
    let coder = JSONPersistenceCoder()
    let value = Value()
    #expect(try coder.decode(Value.self, from: coder.encode(value)) == value)
    let number = try coder.decode(Double.self, from: coder.encode(Double.nan))
    #expect(number.isNaN)
  }

  @Test func hasOneRowForKeysThatAreEqual() async throws {
    let stage = try await PersistenceStage()
    await stage.dispatcher.send(Deposit(account: "caf\u{E9}", amount: 1))
    await stage.dispatcher.send(Deposit(account: "cafe\u{301}", amount: 1))
    #expect(stage.wallet.model.all["caf\u{E9}"] == 2)
    #expect(stage.saved.count == 1)
    #expect(stage.saved["caf\u{E9}"].map { Array("\($0)".utf8) } == Array("2".utf8))
  }

  @Test func theIdentifierOfWorkIsNoStores() async throws {
    let stage = try await PersistenceStage()
    let wallet = Store(identifier: "dispatchstore.work", model: Wallet()) {
      On(Deposit.self) { _, _ in }
    }
    let inMemory = Dispatcher(name: "memory", persistence: nil)
    for attempt in 0..<3 {
      let error = await #expect(throws: PersistenceError.self) {
        if attempt == 2 { return try await stage.persistence.delete("dispatchstore.work") }
        let dispatcher = attempt == 1 ? inMemory : stage.dispatcher
        try await dispatcher.register(store: wallet, persisted: .elements(\.all))
      }
      #expect(error?.code == .alreadyRegistered)
    }
  }

  @Test func ofAnUnregisteredStoreStaysAndIsLoadedAgain() async throws {
    let stage = try await PersistenceStage(holds: true)
    await stage.dispatcher.send(Deposit(account: "a", amount: 1), options: .durability(.memory))
    stage.dispatcher.unregister(store: stage.wallet)
    stage.database.release()
    // The new registration waits for the rows of the old one.
    let again = try await stage.dispatcher.register(store: .wallet(), persisted: .elements(\.all))
    #expect(again.model.all.dictionary == ["a": 1])
    // The former store is saved no longer.
    stage.wallet.updateModel { $0.all["a"] = 100 }
    await stage.dispatcher.send(Deposit(account: "a", amount: 1))
    #expect(stage.saved == ["a": "2"])
    let error = await #expect(throws: PersistenceError.self) {
      try await stage.persistence.delete("wallet")
    }
    #expect(error?.code == .alreadyRegistered)
    stage.dispatcher.unregister(store: again)
    try await stage.persistence.delete("wallet")
    #expect(stage.database.version(ofStore: "wallet") == nil)
    let fresh = try await stage.dispatcher.register(store: .wallet(), persisted: .elements(\.all))
    #expect(fresh.model.all.isEmpty)
  }

  /// The store is loaded again, or saved anew.
  @Test(arguments: [true, false])
  func releasesWhatAFormerRegistrationHasKeptUnderNoLock(isLoaded: Bool) async throws {
    let stage = try await PersistenceStage()
    let (wallet, wasFree) = (stage.wallet, Recorder<Bool>())
    func register(as type: PersistedType) async throws {
      if isLoaded { return try await stage.reload(as: type) }
      stage.dispatcher.unregister(store: wallet)
      try await stage.persistence.delete("wallet")
      try await stage.dispatcher.register(store: wallet, persisted: .elements(\.all), as: type)
    }
    func typeThatLooks() -> PersistedType {
      let mortal = Mortal {
        let hasLocked = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
          wallet.storage.withLock { _ in }
          hasLocked.signal()
        }
        wasFree.record(hasLocked.wait(timeout: .now() + 10) == .success)
      }
      return PersistedType("wallet") { _ in withExtendedLifetime(mortal) {} }
    }
    try await register(as: typeThatLooks())
    try await register(as: PersistedType("wallet"))
    #expect(await wasFree.first(1) == [true])
  }

  @Test func thatIsSavedNoLongerIsNotKeptForSaving() async throws {
    final class Part: Codable, Sendable {}
    struct Parts: ModelType, Codable { var all = TrackedDictionary<String, Part>() }
    func makeStore() -> Store<Parts, HandledAction> {
      Store(identifier: "parts", model: Parts()) { On(Close.self) { $0.all[$1.account] = nil } }
    }
    let (database, dispatcher) = (MemoryDatabase(), Dispatcher(name: "bank"))
    try await database.open(for: dispatcher)
    let store = try await dispatcher.register(store: makeStore(), persisted: .elements(\.all))
    dispatcher.unregister(store: store)
    try await dispatcher.register(store: makeStore(), persisted: .elements(\.all))
    weak var part: Part?
    do {
      let made = Part()
      part = made
      store.updateModel { $0.all["a"] = made }
    }
    store.updateModel { $0.all["a"] = nil }
    // The dictionary's own log has the old element until its next change.
    store.updateModel { $0.all["b"] = Part() }
    #expect(part == nil)
  }

  @Test func isOfOneStoreIfSeveralTasksRegisterItAtOnce() async throws {
    let (database, dispatcher) = (MemoryDatabase(), Dispatcher(name: "bank"))
    try await database.open(for: dispatcher)
    let codes = await withTaskGroup(of: PersistenceError.Code?.self) { group in
      for _ in 0..<8 {
        group.addTask {
          do {
            try await dispatcher.register(store: .wallet(), persisted: .elements(\.all))
            return nil
          } catch {
            return (error as? PersistenceError)?.code
          }
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(codes.count { $0 == nil } == 1)
    #expect(codes.count { $0 == .alreadyRegistered } == 7)
    await dispatcher.send(Deposit(account: "a", amount: 1))
    #expect(database.rows(ofStore: "wallet", part: 1) == ["a": "1"])
  }

  @Test func isOfOneStoreIfItsRegistrationEndsBesideADeletion() async throws {
    /// A record whose registration ends just after somebody has asked for its dispatcher.
    final class EndingRecord: PersistedRecord, @unchecked Sendable {
      override var dispatcher: Dispatcher? {
        persistence.endClaim(of: self)
        return nil
      }
      override func inSection(_ body: () -> PersistenceError?) -> PersistenceError? { body() }
    }
    let persistence = try await MemoryDatabase().open(for: Dispatcher(name: "bank"))
    let record = EndingRecord(persistence, "wallet")
    #expect(persistence.claim("wallet", for: record) == nil)
    #expect(persistence.claim("wallet", for: nil)?.code == .alreadyRegistered)
    #expect(!record.isReplaced)
  }

  @Test func staysIfItsStoreIsRegisteredBesideADeletion() async throws {
    let stage = try await PersistenceStage()
    var present: WalletStore? = stage.wallet
    for round in 1...200 {
      if let present { stage.dispatcher.unregister(store: present) }
      async let deletion: Void = stage.persistence.delete("wallet")
      present = try? await stage.dispatcher.register(
        store: .wallet(), persisted: .elements(\.all))
      // Either of them may come too late.
      try? await deletion
      guard let present else { continue }
      #expect(await stage.dispatcher.send(Deposit(account: "a", amount: round)).result.isSuccess)
      #expect(stage.database.version(ofStore: "wallet") == present.version)
      #expect(stage.saved["a"] == present.model.all["a"].map { "\($0)" })
    }
    #expect(!stage.persistence.status.hasFailed)
  }

  @Test func isSavedOfAStoreThatChangesWhileItIsRegisteredForTheFirstTime() async throws {
    let (stage, hasEnded) = (try await PersistenceStage(), Latch())
    @Sendable func change(_ store: WalletStore, while goesOn: @Sendable (Int) -> Bool) async {
      for number in 1... {
        guard goesOn(number), !Task.isCancelled else { return }
        store.updateModel { $0.all["a"] = number }
        await Task.yield()
      }
    }
    // Commits of another store are pending all the time.
    async let others: Void = change(stage.wallet) { _ in !hasEnded.isOpen }
    for round in 1...Load.count(50) {
      let store = WalletStore.wallet("\(round)")
      async let changes: Void = change(store) { $0 <= 20 }
      try await stage.dispatcher.register(store: store, persisted: .elements(\.all))
      await changes
      try await stage.persistence.flush()
      #expect(stage.database.rows(ofStore: "\(round)", part: 1) == ["a": "20"])
    }
    hasEnded.open()
    await others
    #expect(!stage.persistence.status.hasFailed)
  }

  @Test func isInMemoryIfItsFirstRegistrationHasFailed() async throws {
    struct Sealed: ModelType, Codable {
      var count = 0
      func encode(to encoder: any Encoder) throws { throw Refused() }
    }
    let (database, dispatcher) = (MemoryDatabase(), Dispatcher(name: "bank"))
    let persistence = try await database.open(for: dispatcher)
    let store = Store<Sealed, HandledAction>(identifier: "sealed", model: Sealed()) {
      On(SetNote.self) { sealed, _ in sealed.count += 1 }
    }
    let error = await #expect(throws: PersistenceError.self) {
      try await dispatcher.register(store: store, persisted: .model)
    }
    #expect(error?.code == .notEncodable)
    dispatcher.register(store: store)
    #expect(await dispatcher.send(SetNote(note: "")).isSuccess)
    #expect(store.model.count == 1)
    #expect(!persistence.status.hasFailed)
  }

  @Test func isNotThatOfAStoreInMemoryThatComesInBetween() async throws {
    let (database, dispatcher) = (MemoryDatabase(), Dispatcher(name: "bank"))
    try await database.open(for: dispatcher)
    database.hold()
    let persisted = Task {
      try await dispatcher.register(store: .wallet(), persisted: .elements(\.all))
    }
    // In either order there is an error.
    for _ in 0..<100 { await Task.yield() }
    dispatcher.register(store: .wallet())
    database.release()
    await #expect(throws: PersistenceError.self) { try await persisted.value }
    dispatcher.unregister(storeIdentifier: "wallet")
    try await dispatcher.register(store: .wallet(), persisted: .elements(\.all))
    await dispatcher.send(Deposit(account: "a", amount: 1))
    #expect(database.rows(ofStore: "wallet", part: 1) == ["a": "1"])
  }

  /// As those of a program that registers a store for each user who comes.
  @Test func takesNoMemoryOnceItsStoreIsReleased() async throws {
    let (database, dispatcher) = (MemoryDatabase(), Dispatcher(name: "bank"))
    let persistence = try await database.open(for: dispatcher)
    for number in 1...1_000 {
      try await dispatcher.register(store: .wallet("\(number)"), persisted: .model)
      dispatcher.unregister(storeIdentifier: "\(number)")
    }
    #expect(persistence.state.withLock(\.records.count) < 100)
    #expect(database.rows(ofStore: "1", part: 0).count == 1)
  }

  /// Dispatches to it would not wait until their commits are saved.
  @Test func isNotThatOfTheSameStoreIfItComesInBetweenInMemory() async throws {
    let database = MemoryDatabase()
    try await saveWallet(in: database)
    let (dispatcher, wallet) = (Dispatcher(name: "second"), WalletStore.wallet())
    let persistence = try await database.open(for: dispatcher)
    database.hold()
    let persisted = Task {
      try await dispatcher.register(store: wallet, persisted: .elements(\.all))
    }
    while persistence.state.withLock({ $0.records["wallet"] == nil }) { await Task.yield() }
    dispatcher.register(store: wallet)
    dispatcher.dispatch(Deposit(account: "b", amount: 1), mode: .sync)
    database.release()
    let error = await #expect(throws: PersistenceError.self) { try await persisted.value }
    #expect(error?.code == .alreadyRegistered)
    // What was acknowledged in memory stays.
    #expect(wallet.model.all.dictionary == ["b": 1] && wallet.model.note.isEmpty)
    #expect(await dispatcher.send(Deposit(account: "a", amount: 1)).result.isSuccess)
    dispatcher.unregister(store: wallet)
    try await dispatcher.register(store: wallet, persisted: .elements(\.all))
    await dispatcher.send(Deposit(account: "a", amount: 1))
    #expect(database.rows(ofStore: "wallet", part: 1) == ["a": "1"])
  }

  /// An action, or a list of one, runs while another store takes the identifier, and a second one waits behind it.
  @Test(arguments: [true, false], [true, false])
  func isNotAcknowledgedOfAStoreThatWasReplaced(isKeyed: Bool, isSequence: Bool) async throws {
    let (database, dispatcher) = (MemoryDatabase(), Dispatcher(name: "bank"))
    try await database.open(for: dispatcher)
    let (begun, goOn) = (Latch(), Latch())
    func makeStore() -> WalletStore {
      Store(identifier: "wallet", model: Wallet()) {
        Perform(Deposit.self) { deposit, context in
          begun.open()
          await goOn.opened()
          try context.updateModel { $0.all[deposit.account, default: 0] += deposit.amount }
        }
      }
    }
    let store = try await dispatcher.register(store: makeStore(), persisted: .elements(\.all))
    let (first, second) = (Deposit(account: "a", amount: 1), Deposit(account: "b", amount: 1))
    let options = isKeyed ? DispatchOptions.idempotencyKey("a") : []
    let running =
      isSequence
      ? dispatcher.dispatch(actions: [first], mode: .serial, options: options)
      : dispatcher.dispatch(first, mode: .serial, options: options)
    await begun.opened()
    let waiting = dispatcher.dispatch(second, mode: .serial)
    dispatcher.unregister(store: store)
    let next = try await dispatcher.register(store: makeStore(), persisted: .elements(\.all))
    goOn.open()
    #expect(await running.result.dispatchError?.code == .persistenceFailed)
    #expect(await waiting.result.dispatchError?.code == .persistenceFailed)
    #expect(store.model.all.dictionary == ["a": 1], "What waited has not run.")
    #expect(database.rows(ofStore: "wallet", part: 1).isEmpty)
    // A repeat goes to the new store.
    let repeated =
      isSequence
      ? await dispatcher.dispatch(actions: [first], mode: .serial, options: options).result
      : await dispatcher.send(first, mode: .serial, options: options).result
    #expect(repeated.isSuccess)
    #expect(next.model.all.dictionary == ["a": 1])
    #expect(database.rows(ofStore: "wallet", part: 1) == ["a": "1"])
  }

  @Test func isAcknowledgedOfAListAlthoughAnotherStoreWasReplacedMeanwhile() async throws {
    let (database, dispatcher) = (MemoryDatabase(), Dispatcher(name: "bank"))
    try await database.open(for: dispatcher)
    let wallet = try await dispatcher.register(store: counter("wallet"), persisted: .model)
    let orders = try await dispatcher.register(store: counter("orders"), persisted: .model)
    let (payment, order) = (Count(), Count())
    let lost = dispatcher.dispatch(storeIdentifier: "wallet", action: payment, mode: .async)
    await payment.hasBegun.opened()
    func run() -> DispatchHandle {
      dispatcher.dispatch(
        storeIdentifier: "orders", actions: [order], mode: .async,
        options: .idempotencyKey("order"))
    }
    let list = run()
    await order.hasBegun.opened()
    dispatcher.unregister(store: wallet)
    try await dispatcher.register(store: counter("wallet"), persisted: .model)
    payment.mayGoOn.open()
    #expect(await lost.result.dispatchError?.code == .persistenceFailed)
    order.mayGoOn.open()
    #expect(await list.result.isSuccess)
    #expect(await run().result.isSuccess)
    #expect(orders.model == 1, "The repeat has not run.")
    withExtendedLifetime(wallet) {}
  }

  @Test(arguments: [true, false])
  func isNotRememberedOfAStoreThatWasReplacedIfNobodyWaitsForSaving(isList: Bool) async throws {
    let (database, dispatcher) = (MemoryDatabase(), Dispatcher(name: "bank"))
    try await database.open(for: dispatcher)
    let wallet = try await dispatcher.register(store: counter("wallet"), persisted: .model)
    let payment = Count()
    func run() -> DispatchHandle {
      let options: DispatchOptions = [.idempotencyKey("a"), .durability(.memory)]
      return isList
        ? dispatcher.dispatch(actions: [payment], options: options)
        : dispatcher.dispatch(payment, options: options)
    }
    let first = run()
    await payment.hasBegun.opened()
    dispatcher.unregister(store: wallet)
    let next = try await dispatcher.register(store: counter("wallet"), persisted: .model)
    payment.mayGoOn.open()
    #expect(await first.result.isSuccess)
    #expect(await run().result.isSuccess)
    #expect(next.model == 1)
    withExtendedLifetime(wallet) {}
  }

  /// A block that begins, and changes its store once it may.
  private struct Count: ActionType {
    let hasBegun = Latch()
    let mayGoOn = Latch()
  }

  private func counter(_ identifier: String) -> Store<Int, HandledAction> {
    Store(identifier: identifier, model: 0) {
      Perform(Count.self) { count, context in
        count.hasBegun.open()
        await count.mayGoOn.opened()
        try context.updateModel { $0 += 1 }
      }
    }
  }

  @Test(arguments: [true, false])
  func isOfOneStoreAtATime(hasDatabase: Bool) async throws {
    let stage = try await hasDatabase ? PersistenceStage() : nil
    let dispatcher = stage?.dispatcher ?? Dispatcher(name: "bank", persistence: nil)
    let first = WalletStore.wallet("first")
    try await dispatcher.register(store: first, persisted: .model)
    for other in [WalletStore.wallet("first"), first] {
      let error = await #expect(throws: PersistenceError.self) {
        try await dispatcher.register(store: other, persisted: .elements(\.all))
      }
      #expect(error?.code == .alreadyRegistered)
      #expect(error?.message.contains("\"first\"") == true)
      #expect(other.storage.withLock { _ in other.storage.partsUndoneInPlace.isEmpty })
    }
  }

  @Test func isSelectedOnceItIsLoadedWhateverWasSelectedBefore() async throws {
    let (database, note) = (MemoryDatabase(), Self.note)
    try await saveWallet(in: database)
    let (second, store) = (Dispatcher(name: "second"), WalletStore.wallet())
    #expect(store.select(note).isEmpty)
    try await database.open(for: second)
    try await second.register(store: store, persisted: .elements(\.all))
    #expect(store.version == 0 && store.model.note == "saved")
    #expect(store.select(note) == "saved")
  }

  @Test func isStreamedAlsoIfTheStoreHadALaterVersionBefore() async throws {
    let database = MemoryDatabase()
    try await saveWallet(in: database)
    let second = Dispatcher(name: "second")
    var store: WalletStore? = WalletStore.wallet()
    for number in 1...3 { store?.updateModel { $0.all["\(number)"] = number } }
    var changes = try #require(store?.stream(.model, initial: true)).makeAsyncIterator()
    var deltas = try #require(store?.stream(.deltas(\.all))).makeAsyncIterator()
    #expect(await changes.next()?.value.all.count == 3)
    store?.updateModel { $0.all["4"] = 4 }
    try await database.open(for: second)
    try await second.register(
      store: try #require(store), ownership: .weak, persisted: .elements(\.all))
    store?.updateModel { $0.all["new"] = 1 }
    #expect(store?.version == 6)
    store = nil
    // Merged with that of version 4, which it follows.
    #expect(await deltas.next() != nil)
    #expect(await changes.next()?.value.all["new"] == 1)
  }

  /// The saved model has version 0, and would give the next commit a version that observers have seen.
  @Test(arguments: 0..<2)
  func isObservedAlsoIfTheStoreHadALaterVersionBefore(form: Int) async throws {
    let (database, dispatcher) = (MemoryDatabase(), Dispatcher(name: "second"))
    try await saveWallet(in: database, Self.forms[form])
    let store = WalletStore.wallet()
    let label = StateSelector.combine(Self.note) { note in "\(note)!" }
    let (seen, elements) = (Recorder<String>(), Recorder<UInt64>())
    let element = store.observe(.element(\.all, "a")) { elements.record($0.version) }
    store.updateModel { ($0.note, $0.all["a"]) = ("seed", 1) }
    #expect(store.select(label) == "seed!")
    let tokens = [
      store.observe(.model) { seen.record("model \($0.version)") },
      store.observe(.part(\.note)) { seen.record("part \($0.version) \($0.value)") },
      store.observe(.select(label)) { seen.record("label \($0.version) \($0.value)") },
    ]
    try await database.open(for: dispatcher)
    try await dispatcher.register(store: store, persisted: Self.forms[form])
    #expect(store.version == 2 && store.select(label) == "saved!")
    store.updateModel { ($0.note, $0.all["a"]) = ("x", 2) }
    #expect(seen.all == ["model 3", "part 3 x", "label 3 x!"])
    #expect(elements.all == [1, 3] && store.select(label) == "x!")
    for token in tokens + [element] { token.cancel() }
  }

  private static let note = StateSelector(\Wallet.note)

  /// Saves the state of a store that has version 0.
  private func saveWallet(
    in database: MemoryDatabase, _ form: PersistedForm<Wallet> = .elements(\.all)
  ) async throws {
    let dispatcher = Dispatcher(name: "first")
    let persistence = try await database.open(for: dispatcher)
    let saved = WalletStore.wallet("wallet", Wallet(note: "saved"))
    try await dispatcher.register(store: saved, persisted: form)
    try await persistence.close()
  }

  @Test func ofAReleasedWeakStoreIsSaved() async throws {
    let (database, dispatcher) = (MemoryDatabase(), Dispatcher(name: "bank"))
    let persistence = try await database.open(for: dispatcher)
    do {
      let store = try await dispatcher.register(
        store: .wallet("weak"), ownership: .weak, persisted: .elements(\.all))
      database.hold()
      store.updateModel { $0.all["a"] = 1 }
    }
    database.release()
    try await persistence.flush()
    #expect(database.rows(ofStore: "weak", part: 1) == ["a": "1"])
    try await dispatcher.register(store: .wallet("weak"), persisted: .elements(\.all))
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func staysInMemoryIfThereIsNoDatabase(mode: Dispatcher.Mode) async throws {
    let dispatcher = Dispatcher(name: "bank", persistence: nil)
    let wallet = try await dispatcher.register(store: .wallet(), persisted: .elements(\.all))
    let seen = Recorder<Int>()
    let token = wallet.observe(.part(\.all.count), when: .durable) { seen.record($0.value) }
    defer { token.cancel() }
    let deposit = Deposit(account: "a", amount: 1)
    let handle = await onOwnThread {
      dispatcher.dispatch(deposit, mode: mode, options: .idempotencyKey("a"))
    }
    #expect(await handle.result.isSuccess)
    #expect(await seen.first(1) == [1])
    #expect(wallet.model.all["a"] == 1)
  }

  @Test func inMemoryIsObservedOnceForEachCommitToo() async throws {
    let dispatcher = Dispatcher(name: "bank", persistence: nil)
    let wallet = try await dispatcher.register(store: .wallet(), persisted: .elements(\.all))
    let (seen, mayGoOn) = (Recorder<[Int]>(), DispatchSemaphore(value: 0))
    let token = wallet.observe(.model, when: .durable) { change in
      if change.version == 1 { mayGoOn.wait() }
      seen.record([Int(change.version), change.value.all.count])
    }
    for account in ["a", "b", "c", "d"] {
      await dispatcher.send(Deposit(account: account, amount: 1))
    }
    mayGoOn.signal()
    #expect(await seen.first(4) == [[1, 1], [2, 2], [3, 3], [4, 4]])
    token.cancel()
  }

  @Test func thatIsDurableIsObservedFromThePresentStateOnOnceThatIsSaved() async throws {
    let stage = try await PersistenceStage(holds: true)
    await stage.dispatcher.send(Deposit(account: "a", amount: 1), options: .durability(.memory))
    let seen = Recorder<Int>()
    let token = stage.wallet.observe(.part(\.all.count), initial: true, when: .durable) {
      seen.record($0.value)
    }
    defer { token.cancel() }
    await stage.dispatcher.send(Deposit(account: "b", amount: 1), options: .durability(.memory))
    #expect(seen.all.isEmpty)
    stage.database.release()
    #expect(await seen.first(2) == [1, 2])
    stage.database.crash()
    let (next, loaded) = (try await PersistenceStage(on: stage.database), Recorder<Int>())
    let nextToken = next.wallet.observe(.part(\.all.count), initial: true, when: .durable) {
      loaded.record($0.value)
    }
    defer { nextToken.cancel() }
    #expect(await loaded.first(1) == [2])
  }

  @Test(.timeLimit(.minutes(1)))
  func isNotKeptForAnObserverThatIsCancelledWhileTheDatabaseIsAway() async throws {
    let (stage, released) = (try await PersistenceStage(holds: true), Latch())
    let token = observe(stage.wallet, Mortal(released))
    await stage.dispatcher.send(Deposit(account: "a", amount: 1), options: .durability(.memory))
    token.cancel()
    await released.opened()
    stage.database.release()
  }

  @Test func isNotKeptForCallsThatWaitBehindASlowOneOnceTheirObserverIsCancelled() async throws {
    let dispatcher = Dispatcher(name: "keep", persistence: nil)
    let store = try await dispatcher.register(
      store: Store<Keeping, HandledAction>(identifier: "keep", model: Keeping()) {},
      persisted: .model)
    let (begun, released, mayGoOn) = (Latch(), Latch(), Latch())
    let token = store.observe(.model, when: .durable) { change in
      if change.version == 1 {
        begun.open()
        mayGoOn.wait()
      }
    }
    store.updateModel { $0.kept = nil }
    await begun.opened()
    store.updateModel { $0.kept = Mortal(released) }
    store.updateModel { $0.kept = nil }
    #expect(!released.isOpen)
    token.cancel()
    #expect(released.isOpen)
    mayGoOn.open()
  }

  private func observe(_ wallet: WalletStore, _ signal: Mortal) -> ObserverToken {
    wallet.observe(.model, when: .durable) { _ in withExtendedLifetime(signal) {} }
  }

  @Test func isObservedBeforeThePersistenceHasClosed() async throws {
    let stage = try await PersistenceStage()
    let (seen, mayGoOn) = (Recorder<UInt64>(), DispatchSemaphore(value: 0))
    let token = stage.wallet.observe(.part(\.all), when: .durable) { change in
      if change.version == 1 { mayGoOn.wait() }
      seen.record(change.version)
    }
    let cancelled = stage.wallet.observe(.part(\.all), when: .durable) { _ in }
    cancelled.cancel()
    for _ in 1...50 { await stage.dispatcher.send(Deposit(account: "a", amount: 1)) }
    await stage.dispatcher.drain()
    async let isClosed: Void = stage.persistence.close()
    mayGoOn.signal()
    try await isClosed
    #expect(seen.all == Array(1...50))
    token.cancel()
  }

  @Test func isNotAwaitedByAnObserverForLongerThanClosingMayTake() async throws {
    let stage = try await PersistenceStage()
    let (hasBegun, mayGoOn) = (EventCount(of: 1), DispatchSemaphore(value: 0))
    let token = stage.wallet.observe(.part(\.all), when: .durable) { _ in
      hasBegun.add()
      mayGoOn.wait()
    }
    await stage.dispatcher.send(Deposit(account: "a", amount: 1))
    await hasBegun.full()
    try await stage.persistence.close(timeout: .milliseconds(10))
    mayGoOn.signal()
    token.cancel()
  }

  @Test func needsANewDispatcher() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let dispatcher = Dispatcher(name: "bank", persistence: nil)
      _ = try await MemoryDatabase().open(for: dispatcher)
    }
    #expect(result.message.contains("Dispatcher \"bank\" can't get a database"))
  }

  @Test func isNotOfTwoDispatchersOfOneName() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let stage = try await PersistenceStage()
      _ = Dispatcher(name: "bank", persistence: stage.persistence)
      withExtendedLifetime(stage) {}
    }
    #expect(result.message.contains("Dispatcher \"bank\" can't share a database with another one"))
  }

  @Test func goesOnInANewDispatcherOnceTheFormerOneOfItsNameIsClosed() async throws {
    let stage = try await PersistenceStage()
    stage.dispatcher.close()
    let next = Dispatcher(name: "bank", persistence: stage.persistence)
    let other = try await next.register(store: .wallet("other"), persisted: .elements(\.all))
    #expect(await next.send(Deposit(account: "a", amount: 1)).result.isSuccess)
    #expect(other.model.all["a"] == 1)
    #expect(stage.database.rows(ofStore: "other", part: 1) == ["a": "1"])
  }

  @Test func keepsNoNameOfADispatcherThatIsGone() async throws {
    let stage = try await PersistenceStage()
    weak var gone: Dispatcher?
    do {
      let branch = Dispatcher(name: "branch", persistence: stage.persistence)
      gone = branch
    }
    while gone != nil { await Task.yield() }
    let next = Dispatcher(name: "next", persistence: stage.persistence)
    #expect(stage.persistence.state.withLock { $0.dispatchers.keys.sorted() } == ["bank", "next"])
    withExtendedLifetime(next) {}
  }

  @Test func isNotInAnotherDatabaseThanThatOfItsDispatcher() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let (stage, other) = (try await PersistenceStage(), Dispatcher(name: "other"))
      try await MemoryDatabase().open(for: other)
      stage.dispatcher.unregister(store: stage.wallet)
      other.register(store: stage.wallet)
    }
    #expect(
      result.message.contains("Store \"wallet\" can't be registered with dispatcher \"other\""))
  }

  @Test func isNotInTwoRowsForEachElement() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = PersistedForm<Wallet>.elements(\.all, \.all)
    }
    #expect(result.message.contains("persisted: .elements(…) names a dictionary twice"))
  }

  @Test func isNotThatOfADictionaryInAnObject() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = PersistedForm<Ledger>.elements(\.book.all)
    }
    #expect(result.message.contains("it leads through an object"))
  }

  private struct Ledger: Codable, Sendable {
    var book = Book()

    final class Book: Codable, @unchecked Sendable {  // because it is used by one thread
      var all = TrackedDictionary<String, Int>()
    }
  }

  /// Also if the dispatcher has no database itself: a dispatch waits for one, and an atomic action has one transaction.
  @Test func isNotInAnotherDatabaseThanThatOfOtherStoresOfItsDispatcher() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let (first, second) = (try await PersistenceStage(), try await PersistenceStage())
      let other = try await second.dispatcher.register(
        store: .wallet("other"), persisted: .elements(\.all))
      first.dispatcher.unregister(store: first.wallet)
      second.dispatcher.unregister(store: other)
      let third = Dispatcher(name: "third")
      // One after the other, they may be there.
      third.register(store: other)
      third.unregister(store: other)
      third.register(store: first.wallet)
      third.register(store: other)
    }
    #expect(
      result.message.contains("Store \"other\" can't be registered with dispatcher \"third\""))
  }

  @Test(arguments: ["weak", "other"])
  func isInAnotherDatabaseThanThatOfAWeakStoreThatIsGone(identifier: String) async throws {
    let (first, second) = (try await PersistenceStage(), try await PersistenceStage())
    let third = Dispatcher(name: "third")
    weak var gone: WalletStore?
    do {
      let store = try await first.dispatcher.register(
        store: .wallet("weak"), persisted: .elements(\.all))
      first.dispatcher.unregister(store: store)
      third.register(store: store, ownership: .weak)
      gone = store
    }
    // The thread that has saved it may still refer to it.
    while gone != nil { await Task.yield() }
    let other = try await second.dispatcher.register(
      store: .wallet(identifier), persisted: .elements(\.all))
    second.dispatcher.unregister(store: other)
    #expect(third.register(store: other) === other)
    #expect(third.stores.map(\.identifier) == [identifier])
  }

  /// Its store has the former record, with which no commit is saved.
  @Test func thatWasDeletedIsSavedOnceItsStoreIsRegisteredAsPersistentAgain() async throws {
    let stage = try await PersistenceStage()
    let (dispatcher, wallet) = (stage.dispatcher, stage.wallet)
    dispatcher.unregister(store: wallet)
    try await stage.persistence.delete("wallet")
    dispatcher.register(store: wallet)
    let error = await dispatcher.send(Deposit(account: "a", amount: 1)).result.dispatchError
    #expect(error?.code == .persistenceFailed)
    #expect(error?.message.contains("can only be registered again with persisted:") == true)
    dispatcher.unregister(store: wallet)
    try await dispatcher.register(store: wallet, persisted: .elements(\.all))
    #expect(await dispatcher.send(Deposit(account: "a", amount: 1)).result.isSuccess)
    #expect(stage.saved == ["a": "1"])
  }

  @Test func isNotObservedOnceAnotherStoreHasItsIdentifier() async throws {
    let (stage, seen) = (try await PersistenceStage(), Recorder<UInt64>())
    let token = stage.wallet.observe(.part(\.all), when: .durable) { seen.record($0.version) }
    await stage.dispatcher.send(Deposit(account: "a", amount: 1))
    stage.dispatcher.unregister(store: stage.wallet)
    try await stage.dispatcher.register(store: .wallet(), persisted: .elements(\.all))
    // Saved nowhere.
    stage.wallet.updateModel { $0.all["a"] = 100 }
    try await stage.persistence.close()
    #expect(seen.all == [1])
    token.cancel()
  }

  @Test(arguments: 0..<2, [true, false])
  func isObservedAlsoOnceItsStoreIsRegisteredAgain(form: Int, isLoaded: Bool) async throws {
    let stage = try await PersistenceStage(form: Self.forms[form])
    let (seen, wallet) = (Recorder<UInt64>(), stage.wallet)
    let token = wallet.observe(.model, when: .durable) { seen.record($0.version) }
    await stage.dispatcher.send(Deposit(account: "a", amount: 1))
    if isLoaded {
      try await stage.reload(form: Self.forms[form])
    } else {
      stage.dispatcher.unregister(store: wallet)
      try await stage.dispatcher.register(store: wallet, persisted: Self.forms[form])
    }
    await stage.dispatcher.send(Deposit(account: "a", amount: 1))
    try await stage.persistence.close()
    // A registration that loads the state anew is a change.
    #expect(seen.all == (isLoaded ? [1, 3] : [1, 2]))
    token.cancel()
  }

  /// A slow observer before it is still called with a commit that no row has, since another store was registered then.
  @Test func isNotObservedOfALostCommitOnceItsStoreIsRegisteredAgain() async throws {
    let stage = try await PersistenceStage()
    let (dispatcher, wallet, seen) = (stage.dispatcher, stage.wallet, Recorder<UInt64>())
    let (hasBegun, mayGoOn) = (Latch(), Latch())
    let slow = wallet.observe(.part(\.note)) { change in
      if change.version != 2 { return }
      hasBegun.open()
      mayGoOn.wait()
    }
    let token = wallet.observe(.part(\.note), when: .durable) { seen.record($0.version) }
    await dispatcher.send(SetNote(note: "1"))
    for round in 0..<2 {
      try await stage.reload {
        if round > 0 { return }
        Thread { wallet.updateModel { $0.note = "2" } }.start()
        await hasBegun.opened()
      }
    }
    mayGoOn.open()
    await dispatcher.send(SetNote(note: "3"))
    try await stage.persistence.close()
    #expect(seen.all == [1, 5])
    for token in [slow, token] { token.cancel() }
  }

  @Test(arguments: 0..<2)
  func isKeptIfItsStoreChangesWhileItIsRegisteredAgain(form: Int) async throws {
    let stage = try await PersistenceStage(form: Self.forms[form])
    let (persistence, wallet) = (stage.persistence, stage.wallet)
    await stage.dispatcher.send(Deposit(account: "a", amount: 1))
    stage.dispatcher.unregister(store: wallet)
    stage.database.hold()
    let again = Task {
      try await stage.dispatcher.register(store: wallet, persisted: Self.forms[form])
    }
    // The claim, and then the errand that waits for the database.
    let isBeginning = { () -> Bool in
      let record = persistence.state.withLock { $0.records["wallet"]?.record }
      return persistence.state.withLock { _ in record?.isBeginning == true }
    }
    while !isBeginning() { await Task.yield() }
    wallet.updateModel { $0.all["b"] = 2 }
    stage.database.release()
    _ = try await again.value
    try await persistence.flush()
    #expect(wallet.model.all.dictionary == ["a": 1, "b": 2])
    #expect(wallet.version == 2)
    stage.database.crash()
    let next = try await PersistenceStage(on: stage.database, form: Self.forms[form])
    #expect(next.wallet.model == wallet.model && next.wallet.version == 2)
  }

  @Test func isSavedInOneFormAndTypeForEachStoreObject() async throws {
    let stage = try await PersistenceStage()
    let (dispatcher, wallet) = (stage.dispatcher, stage.wallet)
    let newer = PersistedType("wallet", version: 2) { _ in }
    await dispatcher.send(Deposit(account: "a", amount: 1))
    dispatcher.unregister(store: wallet)
    let others: [(PersistedForm<Wallet>, PersistedType?)] = [
      (.model, nil), (.elements(\.all), newer),
    ]
    for (form, type) in others {
      let error = await #expect(throws: PersistenceError.self) {
        try await dispatcher.register(store: wallet, persisted: form, as: type)
      }
      #expect(error?.code == .alreadyRegistered)
    }
    // It is saved as before, and another object is loaded.
    wallet.updateModel { $0.all["a"] = 2 }
    let next = try await dispatcher.register(
      store: .wallet(), persisted: .elements(\.all), as: newer)
    #expect(next.model.all.dictionary == ["a": 2])
  }

  /// Nobody may take a change for saved that is nowhere.
  @Test func isNotFlushedOfAStoreThatWasReplaced() async throws {
    let (database, dispatcher) = (MemoryDatabase(), Dispatcher(name: "bank"))
    let persistence = try await database.open(for: dispatcher)
    var former: WalletStore? = try await dispatcher.register(
      store: .wallet(), persisted: .elements(\.all))
    dispatcher.unregister(storeIdentifier: "wallet")
    let next = try await dispatcher.register(store: .wallet(), persisted: .elements(\.all))
    try await persistence.flush()
    former?.updateModel { $0.all["a"] = 1 }
    next.updateModel { $0.all["b"] = 1 }
    for _ in 0..<2 {
      let error = await #expect(throws: PersistenceError.self) { try await persistence.flush() }
      #expect(error?.code == .alreadyRegistered)
    }
    #expect(database.rows(ofStore: "wallet", part: 1) == ["b": "1"])
    #expect(try await next.savedElement(\.all, "b") == 1)
    weak let gone = former
    former = nil
    // The thread that has saved it may still refer to it.
    while gone != nil { await Task.yield() }
    try await persistence.flush()
    #expect(persistence.state.withLock(\.losses).isEmpty)
  }

  @Test(arguments: 0..<2)
  func isSavedWithTheVersionThatItsRegistrationHasRaised(form: Int) async throws {
    let stage = try await PersistenceStage(form: Self.forms[form])
    let wallet = stage.wallet
    await stage.dispatcher.send(Deposit(account: "a", amount: 1))
    try await stage.reload(form: Self.forms[form])
    #expect(wallet.version == 2)
    try await stage.persistence.flush()
    #expect(stage.database.version(ofStore: "wallet") == 2)
    stage.database.crash()
    let next = try await PersistenceStage(on: stage.database, form: Self.forms[form])
    #expect(next.wallet.version == 2)
    #expect(next.wallet.model == wallet.model)
  }

  @Test func isInMemoryWithoutRecordingItsChangesIfItsFirstRegistrationHasFailed() async throws {
    let (coder, dispatcher) = (HookedCoder(), Dispatcher(name: "bank"))
    let wallet = WalletStore.wallet()
    try await MemoryDatabase().open(for: dispatcher, coder: coder)
    let history = UndoHistory(of: wallet)
    wallet.updateModel { $0.note = "x" }
    coder.hook.withLock { $0 = { throw Refused() } }
    await #expect(throws: PersistenceError.self) {
      try await dispatcher.register(store: wallet, persisted: .elements(\.all))
    }
    let log = wallet.model.all.log
    #expect(!log.isFollowed || log.isAbandoned)
    // An atomic action may assign another dictionary, and what was done before can be undone.
    #expect(wallet.storage.withLock { _ in wallet.storage.partsUndoneInPlace.isEmpty })
    #expect(history.canUndo)
  }

  @Test func isObservedInItsOrderHoweverManyThreadsCommit() async throws {
    let stage = try await PersistenceStage()
    let (seen, wallet) = (Recorder<UInt64>(), stage.wallet)
    let token = wallet.observe(.part(\.all), when: .durable) { seen.record($0.version) }
    await withTaskGroup { group in
      for account in 0..<4 {
        group.addTask {
          for _ in 0..<200 { await wallet.send(Deposit(account: "\(account)", amount: 1)) }
        }
      }
    }
    #expect(await seen.first(800) == Array(1...800))
    token.cancel()
  }

  @Test func isNotObservedAfterACancelledToken() async throws {
    let stage = try await PersistenceStage()
    let (seen, others) = (Recorder<UInt64>(), Recorder<UInt64>())
    stage.database.hold()
    let token = stage.wallet.observe(.part(\.all), when: .durable) { seen.record($0.version) }
    let other = stage.wallet.observe(.part(\.all), when: .durable) { others.record($0.version) }
    for _ in 1...3 {
      await stage.dispatcher.send(Deposit(account: "a", amount: 1), options: .durability(.memory))
    }
    #expect(others.all.isEmpty)
    token.cancel()
    stage.database.release()
    #expect(await others.first(3) == [1, 2, 3])
    try await stage.persistence.flush()
    #expect(seen.all.isEmpty)
    other.cancel()
  }
}
