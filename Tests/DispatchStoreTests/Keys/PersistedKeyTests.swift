import DispatchStoreTesting
import Foundation
import Testing

@testable import DispatchStore

private struct Withdraw: ActionType, Codable, Equatable {
  typealias Reply = Int
  var amount = 1
}

private struct WithdrawInABlock: ActionType {
  typealias Reply = Int
}

private struct Describe: ActionType {
  struct Text: Sendable {}
  typealias Reply = Text
}

private struct Pass: ActionType {}
private struct Overdrawn: Error {}

/// A value that can't be encoded.
private struct Sealed: Codable, Sendable {
  init() {}
  init(from decoder: any Decoder) throws {}
  func encode(to encoder: any Encoder) throws { throw Overdrawn() }
}

private struct Seal: ActionType {
  typealias Reply = Sealed
}

private struct Purse: ModelType, Codable { var amounts: [Int] = [] }

private struct Sale: ActionType {
  typealias Reply = Int
}

private struct TillAction: ActionType { var sale: Sale }

private struct Till: ModelType, Codable { var count = 0 }

private final class SaleReducer: Reducer<Int, Sale> {
  override func reduce(into count: inout Int, action: Sale) {
    count += 1
    reply(count)
  }
}

private struct Acquire: CodableAction, Equatable {
  static var actionName: String { "buy" }
  var amount = 1
}

/// `Acquire` under a new name.
private struct Purchase: CodableAction, Equatable {
  static var actionName: String { "buy" }
  var amount = 1
}

/// `Acquire` after a deployment, which can't decode the former one.
private struct AcquireThere: CodableAction, Equatable {
  static var actionName: String { "buy" }
  var amount = 1
  var channel = "web"
}

/// The same, without a property of the former one.
private struct AcquireOnly: CodableAction, Equatable {
  static var actionName: String { "buy" }
  var channel = "web"
}

/// `Acquire` after a deployment, which can decode the former one.
private struct AcquireSomewhere: CodableAction, Equatable {
  static var actionName: String { "buy" }
  var amount = 1
  var channel: String?
}

private struct Reminder: CodableAction, Equatable { var amount = 1 }

/// `Reminder` under a new name.
private struct Remind: CodableAction, Equatable { var amount = 1 }

/// A process that has a database open.
private struct Process {
  let dispatcher: Dispatcher
  let persistence: Persistence
  let purse: Store<Purse, HandledAction>

  init(_ database: MemoryDatabase, clock: VirtualClock? = nil) async throws {
    dispatcher = Dispatcher(name: "bank", clock: clock)
    persistence = try await database.open(for: dispatcher)
    purse = try await dispatcher.register(
      store: Store(identifier: "purse", model: Purse()) {
        On(Withdraw.self) { purse, action in
          purse.amounts.append(action.amount)
          if action.amount < 0 { throw Overdrawn() }
          return purse.amounts.count
        }
        Perform(WithdrawInABlock.self) { _, context in
          try context.updateModel { purse in
            purse.amounts.append(0)
            return purse.amounts.count
          }
        }
        On(Describe.self) { _, _ in Describe.Text() }
        On(Seal.self) { purse, _ in
          purse.amounts.append(7)
          return Sealed()
        }
      }, persisted: .model)
  }
}

@Suite("Idempotency keys of persistent stores", .timeLimit(.minutes(10)))
struct PersistedKeyTests {
  private let database = MemoryDatabase()

  private var rows: [String: String] { database.rows(ofStore: "dispatchstore.work", part: 1) }

  @Test func giveTheRecordedReplyAfterACrash() async throws {
    let first = try await Process(database)
    for _ in 0..<2 {
      let reply = try await first.dispatcher.send(Withdraw(), options: .idempotencyKey("a")).reply
      #expect(reply == 1)
    }
    let block = try await first.dispatcher.send(
      WithdrawInABlock(), options: .idempotencyKey("b")
    ).reply
    #expect(block == 2)
    #expect(rows.keys.sorted() == ["a", "b"])
    database.crash()
    let next = try await Process(database)
    #expect(next.dispatcher.idempotencyKeys.count == 2)
    #expect(try await next.dispatcher.send(Withdraw(), options: .idempotencyKey("a")).reply == 1)
    let again = await next.dispatcher.send(WithdrawInABlock(), options: .idempotencyKey("b"))
    #expect(try again.reply == 2)
    #expect(again.stores.map(\.storeIdentifier) == ["purse"])
    #expect(next.purse.model.amounts == [1, 0])
    for action in [Withdraw(amount: 2), WithdrawInABlock()] as [any ActionType] {
      let other = await next.dispatcher.dispatch(action: action, options: .idempotencyKey("a"))
        .result
      #expect(other.dispatchError?.code == .idempotencyKeyReused)
    }
  }

  /// Sends an action with a key in a process that then crashes.
  private func send<Sent: CodableAction>(
    _ action: Sent, _ coder: ActionCoder = ActionCoder()
  ) async throws -> DispatchResult {
    let dispatcher = Dispatcher(name: "bank")
    let persistence = try await database.open(for: dispatcher, actions: coder)
    let count = try await dispatcher.register(
      store: Store(identifier: "count", model: 0) {
        On(withoutReply: Sent.self) { count, _ in count += 1 }
      }, persisted: .model)
    let result = await dispatcher.send(action, options: .idempotencyKey("a")).result
    #expect(count.model == 1)
    database.crash()
    withExtendedLifetime(persistence) {}
    return result
  }

  /// A repeat would run that one again, although the store that replies is there by then.
  @Test func areRememberedIfOneOfTheStoresHasRun() async throws {
    let dispatcher = Dispatcher(name: "bank")
    let persistence = try await database.open(for: dispatcher)
    let log = try await dispatcher.register(
      store: Store(identifier: "log", model: 0) {
        On(withoutReply: Withdraw.self) { count, _ in count += 1 }
      }, persisted: .model)
    #expect(await dispatcher.send(Withdraw(), options: .idempotencyKey("a")).isSuccess)
    #expect(rows.keys.sorted() == ["a"])
    let replying = dispatcher.register(
      store: Store(identifier: "replying", model: 0) { On(Withdraw.self) { sum, _ in sum } })
    #expect(await dispatcher.send(Withdraw(), options: .idempotencyKey("a")).isSuccess)
    #expect(log.model == 1 && replying.model == 0)
    withExtendedLifetime(persistence) {}
  }

  @Test func areThoseOfARenamedTypeWithTheSameName() async throws {
    #expect(try await send(Acquire(amount: 3)).isSuccess)
    #expect(try await send(Purchase(amount: 3)).isSuccess)
    #expect(try await send(Purchase(amount: 4)).dispatchError?.code == .idempotencyKeyReused)
    #expect(try await send(Reminder(amount: 3)).dispatchError?.code == .idempotencyKeyReused)
  }

  @Test func areComparedByWhatWasRecordedIfTheTypeNoLongerDecodesIt() async throws {
    #expect(try await send(Acquire(amount: 3)).isSuccess)
    #expect(try await send(AcquireThere(amount: 3)).isSuccess)
    #expect(try await send(AcquireSomewhere(amount: 3)).isSuccess)
    for other in [AcquireThere(amount: 4), AcquireOnly()] as [any CodableAction] {
      #expect(try await send(other).dispatchError?.code == .idempotencyKeyReused)
    }
    // One that decodes is compared with all of its properties.
    let other = AcquireSomewhere(amount: 3, channel: "web")
    #expect(try await send(other).dispatchError?.code == .idempotencyKeyReused)
  }

  @Test(arguments: [false, true])
  func areThoseOfARenamedTypeWhoseFormerNameIsRegistered(_ isFirst: Bool) async throws {
    #expect(try await send(Reminder(amount: 3), ActionCoder(Reminder.self)).isSuccess)
    var coder = ActionCoder()
    if isFirst { coder.register(Remind.self, as: "Reminder") }
    coder.register(Remind.self)
    if !isFirst { coder.register(Remind.self, as: "Reminder") }
    #expect(try await send(Remind(amount: 3), coder).isSuccess)
    #expect(try await send(Remind(amount: 4), coder).dispatchError?.code == .idempotencyKeyReused)
    #expect(
      try await send(Acquire(amount: 3), coder).dispatchError?.code == .idempotencyKeyReused)
  }

  @Test func keepNoReplyOfAPartsReducerAfterACrash() async throws {
    for isRepeat in [false, true] {
      let dispatcher = Dispatcher(name: "bank")
      let persistence = try await database.open(for: dispatcher)
      let till = try await dispatcher.register(
        store: Store<Till, TillAction>(
          identifier: "till", model: Till(),
          reducer: PartReducer(\.count, action: { $0.sale }, reducer: SaleReducer())),
        persisted: .model)
      let sales = till.child(\.count).mapActions { TillAction(sale: $0) }
      let result = await sales.send(Sale(), options: .idempotencyKey("a"))
      #expect(result.isSuccess)
      if isRepeat {
        let error = #expect(throws: DispatchError.self) { try result.reply }
        #expect(error?.code == .noReply)
      } else {
        #expect(try result.reply == 1)
      }
      #expect(till.model.count == 1)
      database.crash()
      withExtendedLifetime(persistence) {}
    }
  }

  @Test func aReplyThatCanNotBeEncodedIsReportedAndEndsNoOtherWork() async throws {
    let first = try await Process(database)
    let warnings = Recorder<DispatchWarning.Kind>()
    first.dispatcher.onWarning { warnings.record($0.kind) }
    #expect(await first.dispatcher.send(Seal(), options: .idempotencyKey("a")).isSuccess)
    #expect(await warnings.first(1) == [.notEncodable])
    #expect(try await first.dispatcher.send(Withdraw(), options: .idempotencyKey("b")).reply == 2)
    database.crash()
    let next = try await Process(database)
    #expect(next.purse.model.amounts == [7, 1])
    let again = await next.dispatcher.send(Seal(), options: .idempotencyKey("a"))
    #expect(again.dispatchError?.code == .replyNotDecodable)
    #expect(next.purse.model.amounts == [7, 1])
  }

  @Test func areInTheTransactionOfTheCommit() async throws {
    for commit in 0..<3 {
      let database = MemoryDatabase()
      let first = try await Process(database)
      database.failAtCommit(.crash, number: commit)
      for number in 0..<3 {
        await first.dispatcher.send(Withdraw(amount: number), options: .idempotencyKey(number))
      }
      let next = try await Process(database)
      let keys = database.rows(ofStore: "dispatchstore.work", part: 1).keys.sorted()
      #expect(next.purse.model.amounts.map(String.init) == keys)
      for number in 0..<3 {
        await next.dispatcher.send(Withdraw(amount: number), options: .idempotencyKey(number))
      }
      #expect(next.purse.model.amounts == [0, 1, 2])
    }
  }

  @Test(arguments: [true, false])
  func areInThatOfAnActionWithAWeaklyOwnedStore(isPersistent: Bool) async throws {
    let dispatcher = Dispatcher(name: "bank")
    let persistence = try await database.open(for: dispatcher)
    let purse = try await dispatcher.register(
      store: Store(identifier: "purse", model: Purse()) {
        On(Pass.self) { purse, _ in purse.amounts.append(1) }
      }, ownership: isPersistent ? .weak : .strong, persisted: .model)
    let passes = dispatcher.register(
      store: Store(identifier: "passes", model: 0) {
        On(Pass.self) { count, _ in count += 1 }
      }, ownership: isPersistent ? .strong : .weak)
    // The dispatch goes on once its first commit is saved.
    let (saved, keys) = (DispatchSemaphore(value: 0), Recorder<[String]>())
    let token = purse.observe(.model) { [database] _ in
      persistence.afterSaving { _ in saved.signal() }
      saved.wait()
      keys.record(database.rows(ofStore: "dispatchstore.work", part: 1).keys.sorted())
    }
    #expect(await dispatcher.send(Pass(), options: .idempotencyKey("a")).isSuccess)
    #expect(keys.all == [["a"]])
    token.cancel()
    withExtendedLifetime((purse, passes)) {}
  }

  @Test func rememberAFailureAfterARestartIfAsked() async throws {
    let first = try await Process(database)
    let key = DispatchOptions.idempotencyKey("a", failures: true)
    let result = await first.dispatcher.send(Withdraw(amount: -1), options: key)
    #expect(result.error is Overdrawn)
    database.crash()
    let next = try await Process(database)
    let again = await next.dispatcher.send(Withdraw(amount: -1), options: key)
    #expect(again.dispatchError?.code == .failedBefore)
    #expect(again.dispatchError?.message.contains("Overdrawn") == true)
    #expect(next.purse.model.amounts.isEmpty)
  }

  @Test func areRemovedWithTheNextTransactionOnceForgotten() async throws {
    let process = try await Process(database)
    await process.dispatcher.send(Withdraw(), options: .idempotencyKey("a"))
    await process.dispatcher.send(Withdraw(), options: .idempotencyKey("b"))
    #expect(process.dispatcher.idempotencyKeys.forget("a"))
    await process.dispatcher.send(Withdraw())
    #expect(rows.keys.sorted() == ["b"])
    process.dispatcher.idempotencyKeys.capacity = 0
    await process.dispatcher.send(Withdraw())
    #expect(rows.isEmpty)
  }

  @Test func areForgottenForGoodOnceThatIsFlushed() async throws {
    let first = try await Process(database)
    await first.dispatcher.send(Withdraw(), options: .idempotencyKey("a"))
    #expect(first.dispatcher.idempotencyKeys.forget("a"))
    try await first.persistence.flush()
    database.crash()
    let next = try await Process(database)
    #expect(next.dispatcher.idempotencyKeys.count == 0)
  }

  @Test func areForgottenAtARestartIfTheirTimeIsOver() async throws {
    let first = try await Process(database)
    let key = DispatchOptions.idempotencyKey("a", remembered: .nanoseconds(1))
    await first.dispatcher.send(Withdraw(), options: key)
    database.crash()
    let next = try await Process(database)
    await next.dispatcher.send(Withdraw(), options: key)
    #expect(next.purse.model.amounts == [1, 1])
  }

  @Test func refuseAReplyThatCannotBeSaved() async throws {
    let process = try await Process(database)
    let result = await process.dispatcher.send(Describe(), options: .idempotencyKey("a"))
    #expect(result.dispatchError?.code == .replyNotEncodable, "The program's mistake.")
    #expect(result.dispatchError?.message.contains("Text, which is not Codable") == true)
    let text = await process.dispatcher.send(Withdraw(), options: .idempotencyKey("a\u{0}b"))
    #expect(text.dispatchError?.message.contains("U+0000") == true)
    let long = String(repeating: "k", count: 1_025)
    let refused = await process.dispatcher.send(Withdraw(), options: .idempotencyKey(long))
    #expect(refused.dispatchError?.code == .invalidIdempotencyKey)
    #expect(refused.dispatchError?.message.contains("1025 bytes") == true)
    let list = process.dispatcher.dispatch(actions: [Withdraw()], options: .idempotencyKey(long))
    #expect(await list.result.dispatchError?.code == .invalidIdempotencyKey)
    let nested = Recorder<DispatchHandle>()
    let outer = process.dispatcher.register(
      store: Store(identifier: "outer", model: 0) { [dispatcher = process.dispatcher] in
        On(Pass.self) { _, _ in
          nested.record(dispatcher.dispatch(Withdraw(), options: .idempotencyKey(long)))
        }
      })
    await outer.send(Pass())
    #expect(await nested.all[0].result.dispatchError?.code == .invalidIdempotencyKey)
    #expect(process.purse.model.amounts.isEmpty)
    #expect(await process.dispatcher.send(Withdraw()).isSuccess, "Saving goes on.")
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func areRefusedIfTheyAreEmpty(mode: Dispatcher.Mode) async throws {
    let process = try await Process(database)
    let handle = await onOwnThread { [dispatcher = process.dispatcher] in
      dispatcher.dispatch(Withdraw(), mode: mode, options: .idempotencyKey(""))
    }
    #expect(await handle.result.dispatchError?.code == .invalidIdempotencyKey)
    let list = process.dispatcher.dispatch(actions: [Withdraw()], options: .idempotencyKey(""))
    #expect(await list.result.dispatchError?.code == .invalidIdempotencyKey)
    #expect(process.purse.model.amounts.isEmpty)
  }

  @Test func sayWhichRecordedReplyDoesNotDecode() async throws {
    let first = try await Process(database)
    await first.dispatcher.send(Withdraw(), options: .idempotencyKey("a"))
    database.crash()
    // As after a deployment in which the reply became another type.
    let next = try await Process(database)
    let result = await next.dispatcher.send(
      renamedWithdraw(), options: .idempotencyKey("a"))
    #expect(result.dispatchError?.code == .replyNotDecodable, "\(result)")
    #expect(result.dispatchError?.message.contains("\"purse\"") == true)
    #expect(rows.keys.sorted() == ["a"])
  }

  /// A repeat waits for that as long as its own time limit lets it.
  @Test func giveNoRecordedResultBeforeItIsSaved() async throws {
    let clock = VirtualClock()
    let process = try await Process(database, clock: clock)
    database.hold()
    let handle = process.dispatcher.dispatch(
      Withdraw(), options: [.idempotencyKey("a"), .timeout(.seconds(1)), .exclusive("purse")])
    for await change in process.purse.stream(.model, initial: true, buffering: .unbounded)
    where change.value.amounts == [1] { break }
    // The key is free once only saving is left.
    await process.dispatcher.send(
      Describe(), options: [.exclusive("purse"), .durability(.memory)])
    clock.advance(by: .seconds(1))
    let first = await handle.result
    #expect(first.dispatchError?.code == .timedOut)
    let repeated = process.dispatcher.dispatch(Withdraw(), options: .idempotencyKey("a"))
    let impatient = process.dispatcher.dispatch(
      Withdraw(), options: [.idempotencyKey("a"), .timeout(.seconds(1))])
    clock.advance(by: .seconds(1))
    #expect(await impatient.result.dispatchError?.code == .timedOut)
    #expect(repeated.resultIfEnded == nil)
    database.release()
    #expect(await repeated.result.isSuccess)
    let last = try await process.dispatcher.send(Withdraw(), options: .idempotencyKey("a")).reply
    #expect(last == 1)
    #expect(process.purse.model.amounts == [1])
  }

  private static let subjects: [[any ActionType]] = [
    [Withdraw()], [WithdrawInABlock()], [Withdraw(), WithdrawInABlock()],
  ]

  @Test(arguments: 0..<subjects.count)
  func ofADispatchThatDoesNotWaitForSavingAreSaved(subject: Int) async throws {
    let actions = Self.subjects[subject]
    let first = try await Process(database)
    let options: DispatchOptions = [.idempotencyKey("k"), .durability(.memory)]
    func run(by process: Process) async -> DispatchResult {
      let handle =
        actions.count == 1
        ? process.dispatcher.dispatch(action: actions[0], options: options)
        : process.dispatcher.dispatch(actions: actions, options: options)
      return await handle.result
    }
    #expect(await run(by: first).isSuccess)
    await first.dispatcher.drain()
    try await first.persistence.close()
    let next = try await Process(database)
    #expect(await run(by: next).isSuccess)
    #expect(next.purse.model.amounts.count == actions.count)
  }

  @Test(arguments: [true, false])
  func areNotSavedWithoutTheChangeOfAStoreInMemory(isList: Bool) async throws {
    let options: DispatchOptions = [.idempotencyKey("k"), .durability(.memory)]
    for _ in 0..<2 {
      let process = try await Process(database)
      let dispatcher = process.dispatcher
      let passes = dispatcher.register(
        store: Store(identifier: "passes", model: 0) {
          On(Pass.self) { count, _ in count += 1 }
        })
      for _ in 0..<2 {
        let handle =
          isList
          ? dispatcher.dispatch(actions: [Pass()], options: options)
          : dispatcher.dispatch(action: Pass(), options: options)
        #expect(await handle.result.isSuccess)
      }
      #expect(passes.model == 1)
      await dispatcher.drain()
      try await process.persistence.close()
      #expect(rows.isEmpty)
    }
  }

  @Test func ofADispatchThatDoesNotWaitForSavingAnswerRepeatsOnceTheyAreSaved() async throws {
    let process = try await Process(database)
    database.hold()
    let first = await process.dispatcher.send(
      Withdraw(), options: [.idempotencyKey("k"), .durability(.memory)])
    #expect(try first.reply == 1)
    let repeated = process.dispatcher.dispatch(Withdraw(), options: .idempotencyKey("k"))
    #expect(repeated.resultIfEnded == nil)
    database.release()
    #expect(await repeated.result.isSuccess)
    #expect(process.purse.model.amounts == [1])
  }

  @Test func ofADispatchThatCouldNotBeSavedHaveNoAnswer() async throws {
    let process = try await Process(database)
    database.hold()
    await process.dispatcher.send(
      Withdraw(), options: [.idempotencyKey("k"), .durability(.memory)])
    let repeated = process.dispatcher.dispatch(Withdraw(), options: .idempotencyKey("k"))
    database.failAtCommit(.inputOutput)
    database.crash()
    database.release()
    #expect(await repeated.result.dispatchError?.code == .persistenceFailed)
  }

  @Test func areKeptUpToACapacityThatIsRaisedAfterARestart() {
    let table = IdempotencyTable(DispatcherClock(VirtualClock()))
    table.capacity = 2
    let record = KeyRecord(
      action: .saved(name: "Withdraw", nil),
      outcome: .saved(SavedOutcome(stores: [], replies: [:], error: nil)), isSaved: true)
    for key in 0..<5 { table.restore(record, "\(key)", expiresAt: .max) }
    table.capacity = 10
    #expect(table.count == 5)
  }

  @Test func areSharedByTheDispatchersOfADatabase() async throws {
    let process = try await Process(database)
    let other = Dispatcher(name: "other", persistence: process.persistence)
    await process.dispatcher.send(Withdraw(), options: .idempotencyKey("a"))
    let result = await other.send(Withdraw(), options: .idempotencyKey("a"))
    #expect(try result.reply == 1)
  }
}

/// An action whose type has the name of `Withdraw`, and another reply.
private func renamedWithdraw() -> some ActionType {
  struct Withdraw: ActionType {
    typealias Reply = [String]
  }
  return Withdraw()
}
