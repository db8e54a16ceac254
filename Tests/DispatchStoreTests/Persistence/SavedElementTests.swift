import Dispatch
import DispatchStoreTesting
import Testing

@testable import DispatchStore

@Suite("An element that is read as saved", .timeLimit(.minutes(10)))
struct SavedElementTests {
  /// Deposits without waiting for the database.
  private func deposit(_ account: String, _ stage: PersistenceStage) async {
    await stage.dispatcher.send(
      Deposit(account: account, amount: 5), options: .durability(.memory))
  }

  @Test func waitsForNoOtherElement() async throws {
    let stage = try await PersistenceStage()
    await stage.dispatcher.send(Deposit(account: "a", amount: 5))
    stage.database.hold()
    await deposit("b", stage)
    #expect(try await stage.wallet.savedElement(\.all, "a") == 5)
    #expect(try await stage.wallet.savedElement(\.all, "c") == nil)
    #expect(stage.saved == ["a": "5"])
    stage.database.release()
  }

  @Test(arguments: ["changed", "inserted", "removed", "assigned with all others"])
  func waitsForItsOwnChange(_ change: String) async throws {
    let stage = try await PersistenceStage()
    await stage.dispatcher.send(Deposit(account: "a", amount: 5))
    stage.database.hold()
    let (key, value): (String, Int?)
    switch change {
    case "changed":
      await deposit("a", stage)
      (key, value) = ("a", 10)
    case "inserted":
      await deposit("b", stage)
      (key, value) = ("b", 5)
    case "removed":
      await stage.dispatcher.send(Close(account: "a"), options: .durability(.memory))
      (key, value) = ("a", nil)
    default:
      await stage.dispatcher.send(ReplaceAll(all: ["c": 7]), options: .durability(.memory))
      (key, value) = ("c", 7)
    }
    let saved = Task {
      let element = try await stage.wallet.savedElement(\.all, key)
      return (element, stage.saved[key])
    }
    await Task.yield()
    stage.database.release()
    let (element, row) = try await saved.value
    #expect(element == value)
    #expect(row == value.map { "\($0)" })
  }

  @Test func waitsForAllCommitsOfAStoreThatIsOneRow() async throws {
    let stage = try await PersistenceStage(form: .model, holds: true)
    await deposit("a", stage)
    let version = stage.wallet.version
    let saved = Task {
      _ = try await stage.wallet.savedElement(\.all, "b")
      return stage.database.version(ofStore: "wallet")
    }
    await Task.yield()
    stage.database.release()
    #expect(try await saved.value == version)
  }

  @Test func throwsIfItsChangeCannotBeSaved() async throws {
    let stage = try await PersistenceStage()
    await stage.dispatcher.send(Deposit(account: "a", amount: 5))
    stage.database.fail(.inputOutput)
    await stage.dispatcher.send(Deposit(account: "b", amount: 5))
    await #expect(throws: PersistenceError.self) {
      try await stage.wallet.savedElement(\.all, "b")
    }
    // What is saved is saved.
    #expect(try await stage.wallet.savedElement(\.all, "a") == 5)
  }

  @Test func isWaitedForNoLongerThanALimit() async throws {
    let stage = try await PersistenceStage(holds: true)
    await deposit("a", stage)
    let error = await #expect(throws: DispatchError.self) {
      try await stage.wallet.savedElement(\.all, "a", timeout: .milliseconds(1))
    }
    #expect(error?.code == .timedOut)
    #expect(error?.timeLimit == .milliseconds(1))
    stage.database.release()
    #expect(try await stage.wallet.savedElement(\.all, "a", timeout: .seconds(60)) == 5)
  }

  @Test func isNotWaitedForInACancelledTask() async throws {
    let stage = try await PersistenceStage(holds: true)
    await deposit("a", stage)
    let saved = Task { try await stage.wallet.savedElement(\.all, "a") }
    saved.cancel()
    await #expect(throws: CancellationError.self) { try await saved.value }
    stage.database.release()
  }

  /// However long the database is away.
  @Test func leavesNothingWhereTheWaitIsGivenUp() async throws {
    let stage = try await PersistenceStage(holds: true)
    await deposit("a", stage)
    let ends = Recorder<Bool>()
    for _ in 1...10_000 {
      let wait = SavingWait(for: stage.persistence)
      wait.begin(within: nil)
      wait.end.whenSet { _ in ends.record(true) }
      wait.giveUp(.timedOut)
    }
    #expect(ends.all.count == 10_000)
    #expect(stage.persistence.state.withLock { $0.commit.callCount } < 300)
    try await stage.save()
  }

  @Test func throwsIfItsStoreWasReplaced() async throws {
    let stage = try await PersistenceStage()
    stage.dispatcher.unregister(store: stage.wallet)
    let next = try await stage.dispatcher.register(
      store: .wallet(), persisted: .elements(\.all))
    stage.wallet.updateModel { $0.all["a"] = 1 }
    let error = await #expect(throws: PersistenceError.self) {
      try await stage.wallet.savedElement(\.all, "a")
    }
    #expect(error?.code == .alreadyRegistered)
    #expect(try await next.savedElement(\.all, "a") == nil)
  }

  /// Its store may be registered again at any time, with the state that is saved.
  @Test func isNeverThatOfALostCommit() async throws {
    let (database, dispatcher) = (MemoryDatabase(), Dispatcher(name: "bank"))
    let persistence = try await database.open(for: dispatcher)
    func makeShelf() -> Store<Shelf, HandledAction> {
      Store(identifier: "shelf", model: Shelf(), reads: .published) {
        On(Close.self) { shelf, close in shelf.all[Label(name: close.account)] = nil }
      }
    }
    let shelf = try await dispatcher.register(store: makeShelf(), persisted: .elements(\.all))
    shelf.updateModel { $0.all[Label(name: "a")] = 1 }
    try await persistence.flush()
    dispatcher.unregister(store: shelf)
    let other = try await dispatcher.register(store: makeShelf(), persisted: .elements(\.all))
    shelf.updateModel { $0.all[Label(name: "a")] = 2 }
    dispatcher.unregister(store: other)
    database.hold()
    let (isLoaded, isFirst) = (DispatchSemaphore(value: 0), Locked(true))
    let again = Task {
      defer { isLoaded.signal() }
      try await dispatcher.register(store: shelf, persisted: .elements(\.all))
    }
    let key = Label(name: "a") {
      guard isFirst.exchange(false) else { return }
      database.release()
      isLoaded.wait()
    }
    let error = await #expect(throws: PersistenceError.self) {
      try await shelf.savedElement(\.all, key)
    }
    #expect(error?.code == .alreadyRegistered)
    database.release()
    try await again.value
    #expect(try await shelf.savedElement(\.all, key) == 1)
  }

  private struct Shelf: ModelType, Codable { var all = TrackedDictionary<Label, Int>() }

  /// A key that calls a closure if it is looked up outside of an exclusive section.
  private struct Label: PersistentKey, Codable {
    enum CodingKeys: String, CodingKey { case name }

    let name: String
    var whenLookedUp: (@Sendable () -> Void)?

    var persistentText: String { name }

    static func key(ofPersistentText text: String) -> Label? { Label(name: text) }

    static func == (one: Label, other: Label) -> Bool { one.name == other.name }

    func hash(into hasher: inout Hasher) {
      hasher.combine(name)
      if ThreadState.current.exclusive == nil { whenLookedUp?() }
    }
  }

  @Test func isThePresentOneOfAStoreThatIsNotSaved() async throws {
    let dispatcher = Dispatcher(name: "bank", persistence: nil)
    let wallet = try await dispatcher.register(store: .wallet(), persisted: .elements(\.all))
    await dispatcher.send(Deposit(account: "a", amount: 5))
    #expect(try await wallet.savedElement(\.all, "a") == 5)
    let alone = WalletStore.wallet("alone", Wallet(all: ["b": 1]))
    #expect(try await alone.savedElement(\.all, "b") == 1)
  }

  @Test func isThereAtOnceAfterARestart() async throws {
    let database = MemoryDatabase()
    let first = try await PersistenceStage(on: database)
    await first.dispatcher.send(Deposit(account: "a", amount: 5))
    database.crash()
    let next = try await PersistenceStage(on: database)
    database.hold()
    #expect(try await next.wallet.savedElement(\.all, "a") == 5)
    database.release()
  }

  @Test func costsNoMemoryForChangesThatAreSaved() {
    let saved = SavedVersion()
    var changes = LastChanges<Int>(before: 7, savedIn: saved)
    #expect(changes.version(of: 0) == 7)
    for version in UInt64(8)...100_000 {
      changes.note(Int(version), version)
      if version > 1_000 { saved.rise(to: version - 1_000) }
      #expect(changes.count <= 2_512)
    }
    #expect(changes.version(of: 100_000) == 100_000)
    #expect(changes.version(of: 99_500) == 99_500)
    changes.noteAll(100_001)
    #expect(changes.version(of: 3) == 100_001)
  }
}
