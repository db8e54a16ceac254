import DispatchStore
import DispatchStoreTesting
import Foundation
import Testing

private struct Order: Sendable, Equatable, Codable {
  var state = "placed"
  var at = 0.0
}

private struct Orders: ModelType {
  var all = TrackedDictionary<Int, Order>()
  var paid = 0
}

private struct Place: CodableAction { let id: Int }
private struct Pay: CodableAction { let id: Int }
/// `Pay` under a new name.
private struct Payment: CodableAction { let id: Int }
private struct Cancel: CodableAction { let id: Int }
private struct Open: ActionType {}
private struct Audit: ActionType {}
private struct Ship: ActionType {}

private let coder = ActionCoder(Place.self, Pay.self, Cancel.self)

/// Orders, whose cancellation forgets to give money back if it comes after the payment.
private func register(at dispatcher: Dispatcher, time: @escaping @Sendable () -> Double = { 0 }) {
  dispatcher.register(
    store: Store(identifier: "orders", model: Orders()) {
      On(Place.self) { orders, place in orders.all[place.id] = Order(at: time()) }
      On(Pay.self) { orders, pay in
        guard orders.all[pay.id]?.state == "placed" else { return }
        orders.all[pay.id]?.state = "paid"
        orders.paid += 1
      }
      On(Cancel.self) { orders, cancel in orders.all[cancel.id]?.state = "cancelled" }
    }.undoesInPlace(\.all))
}

/// A hook that dispatches an audit after each order.
private func registerAudits(at dispatcher: Dispatcher) {
  dispatcher.register(
    .after(Place.self) { _, run in
      _ = run.dispatch.dispatcher.dispatch(Audit(), mode: .async)
    })
}

private struct PaidAndCancelled: Error {}
private struct NotShippedOnce: Error {}

@Suite("Replays of a log", .timeLimit(.minutes(10)))
struct ReplayTests {
  private func record(
    time: @escaping @Sendable () -> Double = { 0 }, masking masks: [LogMask] = [],
    _ body: (Dispatcher) async -> Void
  ) async -> DispatchLog {
    let dispatcher = Dispatcher(name: "shop")
    register(at: dispatcher, time: time)
    let recorder = DispatchRecorder(masking: masks)
    dispatcher.register(middleware: recorder)
    await body(dispatcher)
    return recorder.log
  }

  @Test func giveTheSameStatesInTheSameOrder() async throws {
    let log = await record { dispatcher in
      for id in 1...20 {
        await dispatcher.send(Place(id: id), mode: .serial(lane: id))
        await dispatcher.send(Pay(id: id), mode: .serial(lane: id))
      }
      await dispatcher.dispatch(actions: [Cancel(id: 3), Cancel(id: 4)], mode: .serial).ended()
    }
    let read = try DispatchLog(jsonLines: log.jsonLines())
    let dispatcher = try await replay(read, decoding: coder) { register(at: $0) }
    let orders = dispatcher.store(with: "orders") as? Store<Orders, HandledAction>
    #expect(orders?.model.paid == 20 && orders?.model.all[3]?.state == "cancelled")
  }

  private struct Note: CodableAction, Equatable {
    var due = Date(timeIntervalSinceReferenceDate: 800_000_000)
    var noted = Date(timeIntervalSinceReferenceDate: 0.1 + 0.2)
    var photo = Data([0, 1, 255])
    var page = URL(string: "https://example.org/a?b=1")
    var limit = Double.infinity
    var weight: Float = 0.1
    var number = UInt64.max
    var text = "\0\u{2028}é"
  }

  private struct Notes: ModelType { var all: [Note] = [] }

  @Test func haveTheSameActionsWhenTheLogComesFromAFile() async throws {
    @Sendable func register(at dispatcher: Dispatcher) {
      dispatcher.register(
        store: Store(identifier: "notes", model: Notes()) {
          On(Note.self) { notes, note in notes.all.append(note) }
        })
    }
    let (dispatcher, coder) = (Dispatcher(name: "notes"), ActionCoder(Note.self))
    let recorder = DispatchRecorder(actions: coder)
    dispatcher.register(middleware: recorder)
    register(at: dispatcher)
    await dispatcher.send(Note())
    let read = try DispatchLog(jsonLines: recorder.log.jsonLines())
    let again = try await replay(read, decoding: coder, stores: register)
    #expect((again.store(with: "notes") as? Store<Notes, HandledAction>)?.model.all == [Note()])
  }

  @Test func leaveOutDispatchesThatEndedBeforeTheyBegan() async throws {
    let log = await record { dispatcher in
      await dispatcher.send(Place(id: 1))
      dispatcher.queue.isSuspended = true
      let cancelled = dispatcher.dispatch(Place(id: 2), mode: .async)
      cancelled.cancel()
      await cancelled.ended()
      await dispatcher.dispatch(Pay(id: 1), options: .timeout(.milliseconds(1))).ended()
      dispatcher.queue.isSuspended = false
      await dispatcher.send(Place(id: 3))
    }
    #expect(log.entries.count == 4)
    let again = try await replay(log, decoding: coder) { register(at: $0) }
    let orders = again.store(with: "orders") as? Store<Orders, HandledAction>
    #expect(orders?.model.paid == 0)
    #expect(orders?.model.all.keys.sorted() == [1, 3])
  }

  @Test func leaveOutMaskedValuesOfModels() async throws {
    let dispatcher = Dispatcher(name: "shop")
    register(at: dispatcher)
    let recorder = DispatchRecorder(masking: [.field(\Order.state), .field(\Orders.paid)])
    dispatcher.register(middleware: recorder)
    await dispatcher.send(Place(id: 1))
    await dispatcher.send(Pay(id: 1))
    try await replay(recorder.log, decoding: coder) { register(at: $0) }
    let partly = await record(masking: [.field(\Orders.paid)]) { dispatcher in
      await dispatcher.send(Place(id: 1))
    }
    let difference = await #expect(throws: ReplayDifference.self) {
      try await replay(partly, decoding: coder) { register(at: $0, time: { 7 }) }
    }
    #expect(difference?.version == 1 && difference?.path == "all[1]")
  }

  private struct Fees: ModelType { var card = "", cardFee = 0 }

  @Test func compareWhatLiesBesideAMaskedValue() async throws {
    @Sendable func register(at dispatcher: Dispatcher, fee: Int) {
      dispatcher.register(
        store: Store(identifier: "fees", model: Fees()) {
          On(Pay.self) { fees, pay in
            fees.card = "\(pay.id)"
            fees.cardFee = fee
          }
        })
    }
    let dispatcher = Dispatcher(name: "shop")
    let recorder = DispatchRecorder(masking: [.field(\Fees.card)])
    dispatcher.register(middleware: recorder)
    register(at: dispatcher, fee: 1)
    await dispatcher.send(Pay(id: 1))
    try await replay(recorder.log, decoding: coder) { register(at: $0, fee: 1) }
    let difference = await #expect(throws: ReplayDifference.self) {
      try await replay(recorder.log, decoding: coder) { register(at: $0, fee: 7) }
    }
    #expect(difference?.path == "cardFee" && difference?.replayed == "7")
  }

  @Test func compareWhatTheListsOfBothRunsHaveIfTheyAreCut() async throws {
    @Sendable func register(at dispatcher: Dispatcher, _ ids: [Int], paid: Int = 1) {
      dispatcher.register(
        store: Store(identifier: "orders", model: Orders()) {
          On(Place.self) { orders, _ in
            for id in ids { orders.all[id] = Order() }
            orders.paid = paid
          }
        }.undoesInPlace(\.all))
    }
    let (ids, reversed) = (Array(0..<250), Array((0..<250).reversed()))
    let dispatcher = Dispatcher(name: "shop")
    let recorder = DispatchRecorder()
    dispatcher.register(middleware: recorder)
    register(at: dispatcher, ids)
    await dispatcher.send(Place(id: 1))
    try await replay(recorder.log, decoding: coder) { register(at: $0, reversed) }
    let difference = await #expect(throws: ReplayDifference.self) {
      try await replay(recorder.log, decoding: coder) { register(at: $0, reversed, paid: 7) }
    }
    #expect(difference?.path == "paid" && difference?.replayed == "7")
  }

  @Test func goToTheOnlyStoreThatWasAsked() async throws {
    let dispatcher = Dispatcher(name: "shop")
    let recorder = DispatchRecorder()
    dispatcher.register(middleware: recorder)
    @Sendable func register(at dispatcher: Dispatcher) {
      for name in ["one", "two"] {
        dispatcher.register(
          store: Store(identifier: name, model: 0) { On(Pay.self) { sum, pay in sum += pay.id } })
      }
    }
    register(at: dispatcher)
    await dispatcher.send(Pay(id: 1))
    await dispatcher.send(Pay(id: 10), to: "two")
    let again = try await replay(recorder.log, decoding: coder, stores: register)
    let sums = ["one", "two"].map { name in
      (again.store(with: name) as? Store<Int, HandledAction>)?.model
    }
    #expect(sums == [1, 11])
  }

  /// Also as a list, and if a block of that store changes another one, which answers the action, too.
  @Test(arguments: [false, true], [false, true])
  func goToTheOnlyStoreThatTookPart(asList: Bool, changesAnother: Bool) async throws {
    @Sendable func register(at dispatcher: Dispatcher) {
      let one = dispatcher.register(
        store: Store(identifier: "one", model: 0) { On(Pay.self) { sum, pay in sum += pay.id } })
      dispatcher.register(
        store: Store(identifier: "two", model: 0) {
          Perform(Pay.self) { pay, context in
            try context.updateModel { $0 += pay.id }
            if changesAnother { one.updateModel { $0 += 100 } }
          }
        })
    }
    let dispatcher = Dispatcher(name: "shop")
    let recorder = DispatchRecorder()
    dispatcher.register(middleware: recorder)
    register(at: dispatcher)
    let pays = [Pay(id: 1), Pay(id: 2)]
    if asList {
      await dispatcher.dispatch(storeIdentifier: "two", actions: pays).ended()
    } else {
      for pay in pays { await dispatcher.send(pay, to: "two") }
    }
    let log = try DispatchLog(jsonLines: recorder.log.jsonLines())
    #expect(log.entries == recorder.log.entries)
    let again = try await replay(log, decoding: coder, stores: register)
    let sums = ["one", "two"].map { name in
      (again.store(with: name) as? Store<Int, HandledAction>)?.model
    }
    #expect(sums == [changesAnother ? 200 : 0, 3])
  }

  @Test func keepTheOrderOfCommitsOfManyThreads() async throws {
    let log = await record { dispatcher in
      await withTaskGroup { group in
        for task in 0..<8 {
          group.addTask {
            for id in 0..<20 {
              await dispatcher.send(Place(id: id), mode: .serial(lane: task))
              await dispatcher.send(Pay(id: id))
            }
          }
        }
      }
    }
    try await replay(log, decoding: coder) { register(at: $0) }
  }

  /// A log of the replay that had a limit would lack its first entries.
  @Test func compareAllCommitsHoweverManyActionsTheStoresDispatchNow() async throws {
    let log = await record { dispatcher in
      for id in 1...20 { await dispatcher.send(Place(id: id)) }
    }
    try await replay(log, decoding: coder) { dispatcher in
      dispatcher.onWarning { _ in }
      dispatcher.register(
        store: Store(identifier: "orders", model: Orders()) {
          Perform(Place.self) { place, context in
            try context.updateModel { $0.all[place.id] = Order() }
            for _ in 0..<3 { context.dispatcher.dispatch(Ship(), mode: .async) }
          }
        }.undoesInPlace(\.all))
    }
  }

  private struct Price: CodableAction { let euros: Int }
  private struct Buy: CodableAction {}

  @Test func keepTheOrderOfActionsOfTwoStoresOfWhichOneReadsTheOther() async throws {
    @Sendable func register(at dispatcher: Dispatcher) {
      let price = dispatcher.register(
        store: Store(identifier: "price", model: 1) {
          On(Price.self) { price, action in price = action.euros }
        })
      dispatcher.register(
        store: Store(identifier: "bill", model: 0) {
          Perform(Buy.self) { _, context in
            let euros = price.model
            try context.updateModel { $0 += euros }
          }
        })
    }
    let (dispatcher, recorder) = (Dispatcher(name: "shop"), DispatchRecorder())
    dispatcher.register(middleware: recorder)
    register(at: dispatcher)
    for euros in [2, 5, 3] {
      await dispatcher.send(Price(euros: euros))
      await dispatcher.send(Buy())
    }
    let coder = ActionCoder(Price.self, Buy.self)
    let again = try await replay(recorder.log, decoding: coder, stores: register)
    #expect((again.store(with: "bill") as? Store<Int, HandledAction>)?.model == 10)
  }

  private struct Stock: ModelType, Equatable {
    var pieces = 0
    var reserve: Int?
  }

  private struct Fill: CodableAction { let pieces: Int }
  private struct Reserve: CodableAction {}
  private struct Take: CodableAction {}

  /// The reasons for which an action commits nothing.
  enum Idle: CaseIterable, Codable { case unchanged, noCommit, failed, absentPart, vetoed }

  /// Registers a store in which `Take` commits nothing as long as there is nothing to take.
  private static func registerStock(
    at dispatcher: Dispatcher, _ idle: Idle
  ) -> Store<Stock, HandledAction> {
    if idle == .vetoed {
      let calls = Counter()
      dispatcher.register(
        .before(Take.self) { _, _ in calls.next() == 1 ? .veto(reason: "closed") : .pass })
    }
    return dispatcher.register(
      store: Store(identifier: "stock", model: Stock()) {
        On(Fill.self) { stock, fill in stock.pieces += fill.pieces }
        On(Reserve.self) { stock, _ in stock.reserve = 1 }
        switch idle {
        case .vetoed:
          On(Take.self) { stock, _ in stock.pieces -= 1 }
        case .unchanged:
          On(Take.self) { stock, _ in
            if stock.pieces == 0 { return Reduction.unchanged() }
            stock.pieces -= 1
          }
        case .noCommit, .failed:
          Perform(Take.self) { _, context in
            if try context.model.pieces == 0 {
              if idle == .failed { throw Lost() }
              return
            }
            try context.updateModel { $0.pieces -= 1 }
          }
        case .absentPart:
          Part(\.reserve) { On(Take.self) { reserve, _ in reserve += 1 } }
        }
      })
  }

  @Test(arguments: Idle.allCases)
  func sendAnActionThatHasCommittedNothingInItsPlace(idle: Idle) async throws {
    let (dispatcher, recorder) = (Dispatcher(name: "shop"), DispatchRecorder())
    dispatcher.register(middleware: recorder)
    let stock = Self.registerStock(at: dispatcher, idle)
    let lane = Dispatcher.SendMode.serial(lane: "stock")
    await dispatcher.send(Fill(pieces: 0), mode: lane)
    await dispatcher.send(Take(), mode: lane)
    #expect(stock.version == 1)
    await dispatcher.send(Fill(pieces: 1), mode: lane)
    await dispatcher.send(Take(), mode: lane)
    await dispatcher.send(Fill(pieces: 1), mode: lane)
    await dispatcher.send(Reserve(), mode: lane)
    let (coder, model) = (ActionCoder(Fill.self, Reserve.self, Take.self), stock.model)
    try await replay(recorder.log, decoding: coder) { _ = Self.registerStock(at: $0, idle) }
    try await explore(log: recorder.log, decoding: coder, seeds: 0..<20) {
      _ = Self.registerStock(at: $0, idle)
    } check: { dispatcher in
      let store = dispatcher.store(with: "stock") as? Store<Stock, HandledAction>
      if store?.model != model { throw Lost() }
    }
  }

  private struct Deliver: CodableAction { let isSlow: Bool }
  private struct Clear: CodableAction {}

  @Test func sendAnActionAfterTheCommitsOfThoseThatEndedLater() async throws {
    let (entered, goOn) = (Latch(), Latch())
    @Sendable func register(at dispatcher: Dispatcher) {
      dispatcher.register(
        store: Store(identifier: "stock", model: 0) {
          Perform(Deliver.self) { deliver, context async throws in
            try context.updateModel { $0 += 1 }
            if !deliver.isSlow { return }
            entered.open()
            await goOn.opened()
          }
          On(Clear.self) { pieces, _ in
            if pieces == 2 { return Reduction.unchanged() }
            pieces = 0
          }
        })
    }
    let (dispatcher, recorder) = (Dispatcher(name: "shop"), DispatchRecorder())
    dispatcher.register(middleware: recorder)
    register(at: dispatcher)
    let slow = dispatcher.dispatch(Deliver(isSlow: true), mode: .async)
    await entered.opened()
    await dispatcher.send(Deliver(isSlow: false))
    await dispatcher.send(Clear())
    goOn.open()
    await slow.ended()
    let coder = ActionCoder(Deliver.self, Clear.self)
    let again = try await replay(recorder.log, decoding: coder, stores: register)
    #expect((again.store(with: "stock") as? Store<Int, HandledAction>)?.version == 2)
  }

  @Test func nameTheStoreTheVersionAndTheKeyPathOfAReducerThatReadsTheTime() async throws {
    let log = await record { dispatcher in
      await dispatcher.send(Place(id: 1))
      await dispatcher.send(Pay(id: 1))
      await dispatcher.send(Place(id: 2))
      await dispatcher.send(Place(id: 1))
    }
    let calls = Counter()
    let difference = await #expect(throws: ReplayDifference.self) {
      // The third call differs, as if the reducer had read the date.
      try await replay(log, decoding: coder) {
        register(at: $0, time: { calls.next() == 3 ? 7 : 0 })
      }
    }
    #expect(difference?.store == "orders" && difference?.version == 4)
    #expect(difference?.path == "all[1].at")
    #expect(difference?.recorded == nil && difference?.replayed == "7.0")
    #expect(difference?.action == "Place(id: 1)")
  }

  private struct Withdraw: CodableAction { let amount: Int }
  private struct Deposit: CodableAction { let amount: Int }
  private static let bankCoder = ActionCoder(Withdraw.self, Deposit.self)

  /// How a bank treats a withdrawal of more than there is.
  enum Overdraft: CaseIterable, Codable { case allowed, ignored, failing }

  private static func registerBank(at dispatcher: Dispatcher, _ overdraft: Overdraft) {
    dispatcher.register(
      store: Store(identifier: "balance", model: 10) {
        On(Deposit.self) { balance, deposit in balance += deposit.amount }
        Perform(Withdraw.self) { withdraw, context in
          if try withdraw.amount <= context.model || overdraft == .allowed {
            try context.updateModel { $0 -= withdraw.amount }
          } else if overdraft == .failing {
            throw Lost()
          }
        }
      })
  }

  /// Records a withdrawal and a deposit, and returns the difference of their replay with another treatment.
  private func difference(
    from overdraft: Overdraft, to other: Overdraft, asList: Bool = false
  ) async throws -> ReplayDifference? {
    let (dispatcher, recorder) = (Dispatcher(name: "bank"), DispatchRecorder())
    dispatcher.register(middleware: recorder)
    Self.registerBank(at: dispatcher, overdraft)
    let actions: [any ActionType] = [Withdraw(amount: 70), Deposit(amount: 5)]
    if asList {
      await dispatcher.dispatch(actions: actions).ended()
    } else {
      await dispatcher.send(Withdraw(amount: 70))
      await dispatcher.send(Deposit(amount: 5))
    }
    let log = try DispatchLog(jsonLines: recorder.log.jsonLines())
    do {
      try await replay(log, decoding: Self.bankCoder) { Self.registerBank(at: $0, other) }
      return nil
    } catch let difference as ReplayDifference {
      return difference
    }
  }

  @Test(arguments: [false, true])
  func nameAnActionThatCommitsNothingAndEndsInAnotherWay(asList: Bool) async throws {
    for (one, other) in [(Overdraft.failing, Overdraft.ignored), (.ignored, .failing)] {
      let found = try await difference(from: one, to: other, asList: asList)
      #expect(found?.version == 0 && found?.path == "outcome")
      #expect(found?.recorded == (one == .failing ? "failed" : "finished"))
      #expect(found?.replayed == (other == .failing ? "failed" : "finished"))
      #expect(found?.action == "Withdraw(amount: 70)")
    }
    if asList { return }
    let accepted = try await difference(from: .failing, to: .allowed)
    #expect(accepted?.path == "outcome" && accepted?.action == "Withdraw(amount: 70)")
  }

  @Test(arguments: Overdraft.allCases)
  func findNoDifferenceIfAnActionEndsInTheSameWay(overdraft: Overdraft) async throws {
    let found = try await difference(from: overdraft, to: overdraft)
    #expect(found == nil)
  }

  @Test func nameBothActionsIfAnotherOneMakesTheCommit() async throws {
    let found = try await difference(from: .ignored, to: .allowed)
    #expect(found?.version == 1 && found?.path == "self")
    #expect(found?.recorded == "15" && found?.replayed == "-60")
    #expect(found?.action == "Deposit(amount: 5), in the replay Withdraw(amount: 70)")
  }

  @Test func nameTheLeastOfTheStoresInWhichAnActionDiffers() async throws {
    @Sendable func register(at dispatcher: Dispatcher, _ sign: Int) {
      for number in 10..<40 {
        dispatcher.register(
          store: Store(identifier: "store \(number)", model: 0) {
            On(Pay.self) { sum, pay in sum += sign * pay.id }
          })
      }
    }
    let (dispatcher, recorder) = (Dispatcher(name: "shop"), DispatchRecorder())
    dispatcher.register(middleware: recorder)
    register(at: dispatcher, 1)
    await dispatcher.send(Pay(id: 1))
    let difference = await #expect(throws: ReplayDifference.self) {
      try await replay(recorder.log, decoding: coder) { register(at: $0, -1) }
    }
    #expect(difference?.store == "store 10")
  }

  @Test func findABugThatShowsInOneOrderOnly() async throws {
    // Recorded with the cancellation before the payment, which is then refused.
    let log = await record { dispatcher in
      await dispatcher.send(Place(id: 1), mode: .serial(lane: "orders"))
      await dispatcher.send(Cancel(id: 1), mode: .serial(lane: "clerk"))
      await dispatcher.send(Pay(id: 1), mode: .serial(lane: "orders"))
    }
    let failure = await #expect(throws: ExplorationFailure.self) {
      try await explore(log: log, decoding: coder, seeds: 0..<1_000) {
        register(at: $0)
      } check: { dispatcher in
        let store = dispatcher.store(with: "orders") as? Store<Orders, HandledAction>
        let orders = store?.model ?? Orders()
        if orders.paid > 0, orders.all[1]?.state == "cancelled" { throw PaidAndCancelled() }
      }
    }
    #expect(failure.map { "\($0.failure)".contains("PaidAndCancelled") } == true)
  }

  @Test func addNoHooksByStoreToAnExploration() async throws {
    let log = await record { dispatcher in await dispatcher.send(Place(id: 1)) }
    try await explore(log: log, decoding: coder, seeds: 0..<2) { dispatcher in
      register(at: dispatcher)
      #expect(dispatcher.middlewares.allSatisfy { $0.hooks == .dispatches })
    } check: { _ in
    }
  }

  @Test(arguments: [false, true])
  func sendWhatACompletionHasDispatched(ofSequence isSequence: Bool) async throws {
    let recorded = await record { dispatcher in
      let pay: @Sendable () -> Void = { _ = dispatcher.dispatch(Pay(id: 1), mode: .sync) }
      let handle =
        isSequence
        ? dispatcher.dispatch(actions: [Place(id: 1)], then: pay)
        : dispatcher.dispatch(action: Place(id: 1), then: pay)
      await handle.ended()
    }
    let log = try DispatchLog(jsonLines: recorded.jsonLines())
    let again = try await replay(log, decoding: coder) { register(at: $0) }
    let orders = again.store(with: "orders") as? Store<Orders, HandledAction>
    #expect(orders?.model.paid == 1)
    try await explore(log: log, decoding: coder, seeds: 0..<50) {
      register(at: $0)
    } check: { dispatcher in
      let orders = dispatcher.store(with: "orders") as? Store<Orders, HandledAction>
      if orders?.model.paid != 1 { throw Lost() }
    }
  }

  /// Records the dispatches for a log, and tells when those of hooks have ended, too.
  private func follow(_ dispatcher: Dispatcher) -> (DispatchRecorder, RecorderMiddleware) {
    let (recorder, progress) = (DispatchRecorder(), RecorderMiddleware())
    dispatcher.register(middleware: progress)
    dispatcher.register(middleware: recorder)
    return (recorder, progress)
  }

  private func registerWithHook(at dispatcher: Dispatcher) {
    dispatcher.register(
      .after(Place.self) { place, run in
        _ = run.dispatch.dispatcher.dispatch(Pay(id: place.id), mode: .async)
      })
    register(at: dispatcher)
  }

  /// Records three orders, each of which a hook pays.
  private func recordWithHook() async -> DispatchLog {
    let dispatcher = Dispatcher(name: "shop")
    let (recorder, progress) = follow(dispatcher)
    registerWithHook(at: dispatcher)
    for id in 1...3 {
      await dispatcher.send(Place(id: id))
      await progress.idle()
    }
    #expect(recorder.log.entries.count == 6)
    return recorder.log
  }

  @Test func sendWhatAHookHasDispatchedUnlessItIsRegisteredAgain() async throws {
    let log = await recordWithHook()
    for isHooked in [true, false] {
      let again = try await replay(log, decoding: coder) { dispatcher in
        if isHooked { registerWithHook(at: dispatcher) } else { register(at: dispatcher) }
      }
      let orders = again.store(with: "orders") as? Store<Orders, HandledAction>
      #expect(orders?.model.paid == 3 && orders?.version == 6)
    }
  }

  /// The hook's action has had another type name since the log was recorded.
  @Test(arguments: [false, true])
  func doNotSendAgainWhatAHookDispatchesUnderANewName(isFormerNameFirst: Bool) async throws {
    let log = try DispatchLog(jsonLines: await recordWithHook().jsonLines())
    var coder = ActionCoder(Place.self)
    if isFormerNameFirst { coder.register(Payment.self, as: "Pay") }
    coder.register(Payment.self)
    if !isFormerNameFirst { coder.register(Payment.self, as: "Pay") }
    let again = try await replay(log, decoding: coder) { dispatcher in
      dispatcher.register(
        .after(Place.self) { place, run in
          _ = run.dispatch.dispatcher.dispatch(Payment(id: place.id), mode: .async)
        })
      dispatcher.register(
        store: Store(identifier: "orders", model: Orders()) {
          On(Place.self) { orders, place in orders.all[place.id] = Order() }
          On(Payment.self) { orders, payment in
            orders.all[payment.id]?.state = "paid"
            orders.paid += 1
          }
        })
    }
    let orders = again.store(with: "orders") as? Store<Orders, HandledAction>
    #expect(orders?.model.paid == 3 && orders?.version == 6)
  }

  @Test(arguments: [false, true])
  func awaitWhatAHookDispatches(beforeAnother isBeforeAnother: Bool) async throws {
    // Without the wait, the payment would commit before the audit, or the log would be read before it.
    @Sendable func register(at dispatcher: Dispatcher) {
      registerAudits(at: dispatcher)
      dispatcher.register(
        store: Store(identifier: "journal", model: [String]()) {
          On(Place.self) { journal, _ in journal.append("place") }
          On(Pay.self) { journal, _ in journal.append("pay") }
          Perform(Audit.self) { _, context in
            for _ in 0..<1_000 { await Task.yield() }
            try context.updateModel { $0.append("audit") }
          }
        })
    }
    let dispatcher = Dispatcher(name: "shop")
    let (recorder, progress) = follow(dispatcher)
    register(at: dispatcher)
    await dispatcher.send(Place(id: 1))
    await progress.idle()
    if isBeforeAnother { await dispatcher.send(Pay(id: 1)) }
    let again = try await replay(recorder.log, decoding: coder) { register(at: $0) }
    let journal = again.store(with: "journal") as? Store<[String], HandledAction>
    #expect(journal?.model == ["place", "audit"] + (isBeforeAnother ? ["pay"] : []))
  }

  @Test func reportNoDifferenceIfTheyAreCancelled() async throws {
    let (entered, goOn) = (Latch(), Latch())
    @Sendable func register(at dispatcher: Dispatcher, holds: Bool) {
      registerAudits(at: dispatcher)
      dispatcher.register(
        store: Store(identifier: "journal", model: [String]()) {
          On(Place.self) { journal, _ in journal.append("place") }
          Perform(Audit.self) { _, context in
            if holds {
              entered.open()
              await goOn.opened()
            }
            try context.updateModel { $0.append("audit") }
          }
        })
    }
    let dispatcher = Dispatcher(name: "shop")
    let (recorder, progress) = follow(dispatcher)
    register(at: dispatcher, holds: false)
    await dispatcher.send(Place(id: 1))
    await progress.idle()
    let log = recorder.log
    let replaying = Task {
      try await replay(log, decoding: coder) { register(at: $0, holds: true) }
    }
    await entered.opened()
    replaying.cancel()
    await #expect(throws: CancellationError.self) { try await replaying.value }
    goOn.open()
  }

  @Test(arguments: [false, true])
  func awaitTheEffectsOfWhatAHookDispatches(beforeAnother isBeforeAnother: Bool) async throws {
    // Without the wait, the replay would send what the effect dispatches, too, or would read the log before it.
    @Sendable func register(at dispatcher: Dispatcher) {
      registerAudits(at: dispatcher)
      dispatcher.register(
        effect: Effect(Audit.self) { _, context in
          for _ in 0..<1_000 { await Task.yield() }
          await context.send(Ship())
        })
      dispatcher.register(
        store: Store(identifier: "journal", model: [String]()) {
          On(Place.self) { journal, _ in journal.append("place") }
          On(Pay.self) { journal, _ in journal.append("pay") }
          On(Audit.self) { journal, _ in journal.append("audit") }
          On(Ship.self) { journal, _ in journal.append("ship") }
        })
    }
    let dispatcher = Dispatcher(name: "shop")
    let (recorder, progress) = follow(dispatcher)
    register(at: dispatcher)
    await dispatcher.send(Place(id: 1))
    await progress.endedCount(of: Ship.self, atLeast: 1)
    if isBeforeAnother { await dispatcher.send(Pay(id: 1)) }
    let expected = ["place", "audit", "ship"] + (isBeforeAnother ? ["pay"] : [])
    let again = try await replay(recorder.log, decoding: coder) { register(at: $0) }
    let journal = again.store(with: "journal") as? Store<[String], HandledAction>
    #expect(journal?.model == expected)
    try await explore(log: recorder.log, decoding: coder, seeds: seeds(20)) {
      register(at: $0)
    } check: { dispatcher in
      let journal = dispatcher.store(with: "journal") as? Store<[String], HandledAction>
      if journal?.model.sorted() != expected.sorted() { throw NotShippedOnce() }
    }
  }

  @Test func endHoweverDeeplyDispatchesNest() async throws {
    let recorded = await record { dispatcher in
      await dispatcher.send(Place(id: 1))
      await dispatcher.send(Pay(id: 1))
    }
    let lines = try recorded.jsonLines().split(separator: UInt8(ascii: "\n"))
    /// Returns an entry's line without its opening brace and its number.
    func rest(_ line: Data, withStores hasStores: Bool) throws -> String {
      var entry = try #require(try JSONSerialization.jsonObject(with: line) as? [String: Any])
      entry["id"] = nil
      if !hasStores { entry["stores"] = [String]() }
      let data = try JSONSerialization.data(withJSONObject: entry)
      return String(String(decoding: data, as: UTF8.self).dropFirst())
    }
    let depth = 20_000
    let made = try rest(lines[1], withStores: false)
    // Blocks have made one dispatch inside of the other, and the completion of the innermost one the payment.
    var text = [String(decoding: lines[0], as: UTF8.self)]
    text.append(#"{"id":1,"# + (try rest(lines[1], withStores: true)))
    text += (2...depth).map { #"{"id":\#($0),"parent":\#($0 - 1),"# + made }
    text.append(
      #"{"id":\#(depth + 1),"parent":\#(depth),"outside":true,"#
        + (try rest(lines[2], withStores: true)))
    let log = try DispatchLog(jsonLines: Data(text.joined(separator: "\n").utf8))
    let again = try await replay(log, decoding: coder) { register(at: $0) }
    let orders = again.store(with: "orders") as? Store<Orders, HandledAction>
    #expect(orders?.model.paid == 1)
  }

  private struct Move: CodableAction { let amount: Int }
  private struct Lost: Error {}

  @Test func keepTheOrderOfDispatchesInSeveralLanes() async throws {
    // Loses a change if two of them overlap.
    @Sendable func register(at dispatcher: Dispatcher) {
      dispatcher.register(
        store: Store(identifier: "balance", model: 0) {
          Perform(Move.self) { move, context in
            let balance = try context.model
            await Task.yield()
            try context.updateModel { $0 = balance + move.amount }
          }
        })
    }
    let (dispatcher, coder) = (Dispatcher(name: "bank"), ActionCoder(Move.self))
    let recorder = DispatchRecorder(actions: coder)
    dispatcher.register(middleware: recorder)
    register(at: dispatcher)
    await dispatcher.send(Move(amount: 1), mode: .serial(lane: "ann"))
    await dispatcher.send(Move(amount: 2), mode: .serial(lanes: ["ann", "bob"]))
    await dispatcher.send(Move(amount: 4), mode: .serial(lane: "ann"))
    try await explore(log: recorder.log, decoding: coder, seeds: 0..<500) {
      register(at: $0)
    } check: { dispatcher in
      let store = dispatcher.store(with: "balance") as? Store<Int, HandledAction>
      if store?.model != 7 { throw Lost() }
    }
  }

  @Test func sayWhyALogCantBeReplayed() async throws {
    let open = await record { dispatcher in await dispatcher.send(Open()) }
    let first = await #expect(throws: ReplayError.self) {
      try await replay(open, decoding: coder) { register(at: $0) }
    }
    #expect(first?.description.contains("Let Open conform to CodableAction") == true)
    let placed = await record { dispatcher in await dispatcher.send(Place(id: 1)) }
    let second = await #expect(throws: ReplayError.self) {
      try await replay(placed, decoding: ActionCoder(Pay.self)) { register(at: $0) }
    }
    #expect(second?.description.contains("No action type is registered as \"Place\"") == true)
    let changed = await record { dispatcher in
      await dispatcher.send(Place(id: 1))
      (dispatcher.store(with: "orders") as? Store<Orders, HandledAction>)?
        .updateModel { $0.paid = 9 }
    }
    let third = await #expect(throws: ReplayError.self) {
      try await replay(changed, decoding: coder) { register(at: $0) }
    }
    #expect(third?.description.contains("\"orders\" was changed outside") == true)
    let whole = await record { dispatcher in
      for id in 1...3 { await dispatcher.send(Place(id: id)) }
    }
    let cut = DispatchLog(
      dispatcher: "shop", origin: whole.origin, droppedCount: 1,
      entries: Array(whole.entries.dropFirst()))
    let fourth = await #expect(throws: ReplayError.self) {
      try await replay(cut, decoding: coder) { register(at: $0) }
    }
    #expect(fourth?.description.contains("entries are missing: 1 was dropped") == true)
  }
}

private final class Counter: @unchecked Sendable {
  // because `lock` guards the count
  private let lock = NSLock()
  private var count = 0

  func next() -> Int {
    lock.withLock {
      count += 1
      return count
    }
  }
}
