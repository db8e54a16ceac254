import DispatchStoreTesting
import Foundation
import Synchronization
import Testing

@testable import DispatchStore

/// An order; one with a negative number can't be encoded.
struct OrderPlaced: CodableAction, Equatable {
  var id = 1

  func encode(to encoder: any Encoder) throws {
    if id < 0 { throw BankIsClosed() }
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(id, forKey: .id)
  }

  private enum CodingKeys: CodingKey { case id }
}
struct OrderPaid: CodableAction, Equatable { let id: Int }
struct OrderRefused: CodableAction, Equatable { let id: Int }

struct OrderBook: ModelType, Codable, Equatable {
  var placed: [Int] = []
  var paid: [Int] = []
}

struct BankIsClosed: Error {}

/// The outside world: counts the charges by key.
final class ChargingBank: Sendable {
  let keys = Recorder<String>()
  let failures: EventCount

  init(failing count: Int = 0) { failures = EventCount(count) }

  func charge(_ key: String) throws {
    keys.record(key)
    if failures.take() { throw BankIsClosed() }
  }

  /// A number of failures that are left.
  final class EventCount: Sendable {
    private let left: Locked<Int>

    init(_ count: Int) { left = Locked(count) }

    func take() -> Bool {
      left.withLock { left in
        left -= 1
        return left >= 0
      }
    }
  }
}

extension DispatchDetails {
  fileprivate var children: [DispatchDetails] {
    withState { $0.family?.sortedChildren.map(\.details) ?? [] }
  }
}

/// A process of a service that charges for orders.
struct PaymentService {
  let dispatcher: Dispatcher
  let persistence: Persistence?
  let orders: Store<OrderBook, HandledAction>
  let warnings = Recorder<DispatchWarning>()

  /// - Parameter database: Nil for orders in memory.
  init(
    _ database: MemoryDatabase?, _ bank: ChargingBank, clock: VirtualClock? = nil,
    defaults: DispatchOptions = [], limits: DispatchLimits? = nil,
    saving: PersistenceLimits = .suspending(), attempts: Int = 3,
    onRestart: EffectRecovery<OrderPlaced> = .runAgain,
    actions: ActionCoder = ActionCoder(OrderPlaced.self), resumes: Bool = true,
    before: @escaping @Sendable () async throws -> Void = {}
  ) async throws {
    dispatcher = Dispatcher(name: "payments", defaults: defaults, limits: limits, clock: clock)
    let warnings = warnings
    dispatcher.onWarning { warnings.record($0) }
    persistence = try await database?.open(for: dispatcher, actions: actions, limits: saving)
    let store = Store<OrderBook, HandledAction>(identifier: "orders", model: OrderBook()) {
      On(OrderPlaced.self) { book, order in book.placed.append(order.id) }
      On(OrderPaid.self) { book, order in book.paid.append(order.id) }
      On(OrderRefused.self) { _, _ in throw BankIsClosed() }
    }
    if database == nil {
      orders = dispatcher.register(store: store)
    } else {
      orders = try await dispatcher.register(store: store, persisted: .model)
    }
    dispatcher.register(
      effect: DurableEffect(
        "charge", on: OrderPlaced.self, attempts: attempts,
        backoff: .constant(clock == nil ? .zero : .seconds(60)), onRestart: onRestart
      ) { order, context in
        try await before()
        try bank.charge(context.key)
        return OrderPaid(id: order.id)
      })
    if resumes { dispatcher.resumeWork() }
  }

  /// Waits until an order is placed.
  func placed(_ count: Int) async {
    for await change in orders.stream(.model, initial: true, buffering: .unbounded)
    where change.value.placed.count >= count { return }
  }

  /// Waits until an order is paid for.
  func paid(_ count: Int) async {
    for await change in orders.stream(.model, initial: true, buffering: .unbounded)
    where change.value.paid.count >= count { return }
  }
}

@Suite("Durable effects", .timeLimit(.minutes(10)))
struct DurableEffectTests {
  private let database = MemoryDatabase()
  /// Opens once the work of processes that have crashed may end.
  private let hangs = Latch()

  private var rows: [String: String] { database.rows(ofStore: "dispatchstore.work", part: 2) }

  /// A dispatcher without stores.
  private func open(
    isPersistent: Bool, _ clock: VirtualClock? = nil
  ) async throws -> (Dispatcher, warnings: Recorder<DispatchWarning>, Persistence?) {
    let (dispatcher, warnings) = (
      Dispatcher(name: "payments", clock: clock), Recorder<DispatchWarning>()
    )
    dispatcher.onWarning { warnings.record($0) }
    let persistence =
      isPersistent
      ? try await database.open(
        for: dispatcher, actions: ActionCoder(OrderPlaced.self, OrderPaid.self)) : nil
    return (dispatcher, warnings, persistence)
  }

  /// Registers an effect that notes the key of each of its three attempts, a minute apart.
  private func registerCharge(with dispatcher: Dispatcher, noting keys: Recorder<String>) {
    dispatcher.register(
      effect: DurableEffect(
        "charge", on: OrderPlaced.self, attempts: 3, backoff: .constant(.seconds(60))
      ) { order, context in
        keys.record(context.key)
        return OrderPaid(id: order.id)
      })
  }

  /// Registers an effect that notes its orders, each once a latch is open.
  @discardableResult
  private func noteOrders(
    of dispatcher: Dispatcher, in begun: Recorder<Int>, maxConcurrentRuns: Int = 64,
    until free: Latch? = nil
  ) -> EffectRegistration {
    dispatcher.register(
      effect: DurableEffect(
        "charge", on: OrderPlaced.self, maxConcurrentRuns: maxConcurrentRuns
      ) { order, _ in
        begun.record(order.id)
        await free?.opened()
        return nil
      })
  }

  /// Crashes a process whose work for these orders hangs.
  private func leaveWork(_ ids: some Sequence<Int>) async throws {
    let first = try await PaymentService(database, ChargingBank()) { [hangs] in
      await hangs.opened()
    }
    for id in ids { await first.dispatcher.send(OrderPlaced(id: id)) }
    database.crash()
  }

  @Test(arguments: [true, false], Dispatcher.Mode.everyMode)
  func doTheirWorkOnceTheirCauseIsSaved(isPersistent: Bool, mode: Dispatcher.Mode) async throws {
    let bank = ChargingBank()
    let service = try await PaymentService(isPersistent ? database : nil, bank)
    let handle = await onOwnThread { service.dispatcher.dispatch(OrderPlaced(), mode: mode) }
    #expect(await handle.result.isSuccess)
    await handle.settled()
    #expect(service.orders.model == OrderBook(placed: [1], paid: [1]))
    #expect(bank.keys.all.count == 1)
    #expect(service.dispatcher.pendingEffects.isEmpty)
    try await service.persistence?.flush()
    #expect(rows.isEmpty)
  }

  @Test func areInTheOrderInWhichTheyCameAlsoAfterRestarts() async throws {
    let isNeverOpened = Latch()
    func start() async throws -> PaymentService {
      try await PaymentService(database, ChargingBank(), resumes: false) {
        await isNeverOpened.opened()
      }
    }
    for process in 0..<2 {
      let service = try await start()
      for id in 1...11 { await service.dispatcher.send(OrderPlaced(id: process * 11 + id)) }
      database.crash()
    }
    let pending = try await start().dispatcher.pendingEffects
    #expect(pending.compactMap { ($0.action as? OrderPlaced)?.id } == Array(1...22))
  }

  @Test func areInOrderAlsoIfAnotherDispatcherOfTheirNameFollows() async throws {
    let first = try await PaymentService(database, ChargingBank()) { [hangs] in
      await hangs.opened()
    }
    for id in 1...2 { await first.dispatcher.send(OrderPlaced(id: id)) }
    first.dispatcher.close()
    let second = Dispatcher(name: "payments", persistence: first.persistence)
    try await second.register(
      store: Store(identifier: "more", model: OrderBook()) {
        On(OrderPlaced.self) { book, order in book.placed.append(order.id) }
      }, persisted: .model)
    noteOrders(of: second, in: Recorder<Int>(), until: hangs)
    await second.send(OrderPlaced(id: 3))
    database.crash()
    let next = try await PaymentService(database, ChargingBank(), resumes: false)
    let pending = next.dispatcher.pendingEffects
    #expect(pending.compactMap { ($0.action as? OrderPlaced)?.id } == [1, 2, 3])
    hangs.open()
  }

  /// Otherwise those would overtake it that come to their turns once the commit is saved.
  @Test func thatWereLeftTakeTheirTurnsInOrderAlthoughACommitIsNotSaved() async throws {
    let begun = Recorder<Int>()
    try await leaveWork(1...20)
    let (dispatcher, _, _) = try await open(isPersistent: true)
    let registration = noteOrders(of: dispatcher, in: begun, maxConcurrentRuns: 1)
    database.hold()
    dispatcher.every(.seconds(3_600), name: "later", perform: OrderPlaced(id: 21))
    dispatcher.resumeWork()
    #expect(registration.runCount == 1)
    database.release()
    #expect(await begun.first(20) == Array(1...20))
    dispatcher.close()
    hangs.open()
  }

  @Test(arguments: [true, false])
  func areRunAgainWithTheSameKey(isPersistent: Bool) async throws {
    let bank = ChargingBank(failing: 2)
    let service = try await PaymentService(isPersistent ? database : nil, bank)
    await service.dispatcher.dispatch(OrderPlaced()).settled()
    #expect(bank.keys.all.count == 3)
    #expect(Set(bank.keys.all).count == 1)
    #expect(service.orders.model.paid == [1])
    #expect(service.warnings.all.map(\.kind) == [.effectFailed, .effectFailed])
  }

  /// The attempt may meet another dispatcher's store, or one that was registered again.
  @Test(arguments: [true, false])
  func areRunAgainAfterAnErrorOfAnotherPersistence(isPersistent: Bool) async throws {
    let failures = ChargingBank.EventCount(1)
    let service = try await PaymentService(isPersistent ? database : nil, ChargingBank()) {
      if failures.take() { throw DispatchError.replaced("other") }
    }
    await service.dispatcher.dispatch(OrderPlaced()).settled()
    #expect(service.orders.model.paid == [1])
    #expect(service.warnings.all.map(\.kind) == [.effectFailed])
    #expect(service.dispatcher.pendingEffects.isEmpty)
    try await service.persistence?.flush()
    #expect(rows.isEmpty)
  }

  @Test(arguments: [true, false])
  func areCancelledAtTheTimeLimitOfTheirAttempts(isPersistent: Bool) async throws {
    let (clock, begun, hangs) = (VirtualClock(), Recorder<Int>(), Latch())
    let (dispatcher, warnings, persistence) = try await open(isPersistent: isPersistent, clock)
    let book = dispatcher.register(
      store: Store(identifier: "book", model: OrderBook()) {
        On(OrderPaid.self) { book, order in book.paid.append(order.id) }
      })
    dispatcher.register(
      effect: DurableEffect(
        "charge", on: OrderPlaced.self, attempts: 3, attemptTimeout: .seconds(10),
        backoff: .none, maxConcurrentRuns: 1
      ) { order, context in
        begun.record(context.attempt)
        if order.id == 1 {
          try await clock.sleep(for: .seconds(3_600))  // Ends when it is cancelled.
        } else {
          await hangs.opened()  // Does its work all the same.
        }
        return OrderPaid(id: order.id)
      })
    let first = dispatcher.dispatch(OrderPlaced(id: 1))
    #expect(await begun.first(1) == [1])
    // An attempt that hangs holds its slot until its time is over.
    let second = dispatcher.dispatch(OrderPlaced(id: 2))
    _ = await second.result
    // Its work takes its place in line once its cause is saved.
    try await persistence?.flush()
    #expect(begun.all == [1])
    clock.advance(by: .seconds(10))
    #expect(await begun.first(2) == [1, 1])
    clock.advance(by: .seconds(10))
    hangs.open()
    await second.settled()
    #expect(book.model.paid == [2])
    for attempt in 2...3 {
      #expect(await begun.first(attempt + 1).last == attempt)
      clock.advance(by: .seconds(10))
    }
    await first.settled()
    let letter = try #require(dispatcher.deadLetters.first)
    #expect(letter.attempts == 3 && letter.error.contains("had not ended after 10.0 seconds"))
    #expect(warnings.all.map(\.kind) == [.effectFailed, .effectFailed, .deadLetter])
    try await persistence?.flush()
  }

  @Test(arguments: [true, false], [1, 3])
  func runAsManyAtOnceAsIsAllowed(isPersistent: Bool, bound: Int) async throws {
    let (begun, latch) = (Recorder<Int>(), Latch())
    let (dispatcher, _, _) = try await open(isPersistent: isPersistent)
    noteOrders(of: dispatcher, in: begun, maxConcurrentRuns: bound, until: latch)
    let handles = (0..<10).map { dispatcher.dispatch(OrderPlaced(id: $0), mode: .serial) }
    _ = await begun.first(bound)
    for handle in handles { await handle.ended() }
    #expect(begun.all.count == bound)
    #expect(dispatcher.pendingEffects.count == 10)
    dispatcher.close()
    latch.open()
    #expect(await dispatcher.drain().isComplete)
    // What is saved, and has not begun, is left to the next process.
    #expect(begun.all.count == (isPersistent ? bound : 10))
    #expect(dispatcher.pendingEffects.count == (isPersistent ? 10 - bound : 0))
  }

  /// A dispatcher whose first attempt hangs until the latch opens, with all further work behind it.
  private func jam(
    _ count: Int, isPersistent: Bool, _ latch: Latch
  ) async throws -> (Dispatcher, EffectRegistration, begun: Recorder<Int>) {
    let begun = Recorder<Int>()
    let (dispatcher, _, _) = try await open(isPersistent: isPersistent)
    let registration = dispatcher.register(
      effect: DurableEffect("charge", on: OrderPlaced.self, maxConcurrentRuns: 1) { order, _ in
        begun.record(order.id)
        await latch.openedOrCancelled()
        try Task.checkCancellation()
        return nil
      })
    for id in 0..<count { await dispatcher.send(OrderPlaced(id: id)) }
    _ = await begun.first(1)
    return (dispatcher, registration, begun)
  }

  @Test(arguments: [true, false])
  func thatWaitForATurnHaveNoTask(isPersistent: Bool) async throws {
    let latch = Latch()
    let (dispatcher, registration, begun) = try await jam(
      2_000, isPersistent: isPersistent, latch)
    #expect(registration.runCount == 1 && begun.all == [0])
    #expect(dispatcher.pendingEffects.count == 2_000)
    dispatcher.resumeWork()
    #expect(registration.runCount == 1, "What waits is not begun twice.")
    latch.open()
    while !dispatcher.pendingEffects.isEmpty { await Task.yield() }
    // Saved work comes when its cause is saved: one may overtake those whose causes were saved just before.
    let order = isPersistent ? begun.all.sorted() : begun.all
    let isFirstComeFirstServed = order == Array(0..<2_000)
    #expect(isFirstComeFirstServed)
  }

  /// The second run has its turn, and waits for a place of the queue.
  @Test(arguments: [true, false], [true, false])
  func thatWaitForAPlaceOfTheQueueAreLeftIfTheirDispatcherEnds(
    isPersistent: Bool, isShutDown: Bool
  ) async throws {
    let (dispatcher, _, persistence) = try await open(isPersistent: isPersistent)
    dispatcher.queue.maxConcurrentOperationCount = 1
    dispatcher.addStage()
    let (begun, goesOn, isTaken, free) = (Recorder<Int>(), Latch(), Latch(), Latch())
    noteOrders(of: dispatcher, in: begun, maxConcurrentRuns: 1, until: goesOn)
    let first = dispatcher.dispatch(OrderPlaced(id: 1))
    _ = await begun.first(1)
    await dispatcher.dispatch(OrderPlaced(id: 2)).ended()
    // Its work takes its place in line once its cause is saved.
    try await persistence?.flush()
    let holder = dispatcher.dispatch(action: Script.blocks(opening: isTaken, until: free))
    await isTaken.opened()
    goesOn.open()
    await first.settled()
    if isShutDown { dispatcher.shutDown() } else { dispatcher.close() }
    free.open()
    #expect(await holder.result.isSuccess)
    #expect(await dispatcher.drain().isComplete)
    let begins = !isPersistent && !isShutDown
    #expect(begun.all == (begins ? [1, 2] : [1]))
    #expect(dispatcher.pendingEffects.count == (isPersistent ? 1 : 0))
    #expect(dispatcher.deadLetters.count == (isPersistent || begins ? 0 : 1))
    try await persistence?.flush()
    #expect(rows.count == (isPersistent ? 1 : 0))
  }

  @Test(arguments: [true, false])
  func waitForATurnAgainIfTheirRunsAreCancelled(isPersistent: Bool) async throws {
    let latch = Latch()
    let (dispatcher, registration, begun) = try await jam(
      1_000, isPersistent: isPersistent, latch)
    registration.cancel()
    while !dispatcher.pendingEffects.isEmpty { await Task.yield() }
    #expect(begun.all.sorted() == [0] + Array(0..<1_000), "Only the first one had begun before.")
  }

  @Test func havePausesByTheDispatchersClock() async throws {
    let (clock, bank) = (VirtualClock(), ChargingBank(failing: 2))
    let service = try await PaymentService(nil, bank, clock: clock)
    let handle = service.dispatcher.dispatch(OrderPlaced())
    for attempt in 1...2 {
      _ = await bank.keys.first(attempt)
      await clock.waitForSleepers(atLeast: 1)
      #expect(service.dispatcher.pendingEffects.map(\.attempts) == [attempt])
      #expect(service.dispatcher.pendingEffects[0].lastError == "BankIsClosed()")
      clock.advance(by: .seconds(60))
    }
    await handle.settled()
    #expect(service.orders.model.paid == [1])
  }

  @Test(arguments: [true, false])
  func becomeDeadLettersThatCanBeRunAgainOrRemoved(isPersistent: Bool) async throws {
    let bank = ChargingBank(failing: 4)
    let service = try await PaymentService(isPersistent ? database : nil, bank, attempts: 2)
    for id in 1...2 { await service.dispatcher.dispatch(OrderPlaced(id: id)).settled() }
    let letters = service.dispatcher.deadLetters
    #expect(letters.map(\.name) == ["charge", "charge"])
    #expect(letters.map { ($0.action as? OrderPlaced)?.id } == [1, 2])
    #expect(letters.allSatisfy { $0.attempts == 2 && $0.error == "BankIsClosed()" })
    #expect(service.dispatcher.pendingEffects.isEmpty)
    #expect(service.warnings.all.count { $0.kind == .deadLetter } == 2)
    #expect(service.dispatcher.runAgain(letters[0]))
    #expect(!service.dispatcher.runAgain(letters[0]))
    await service.paid(1)
    #expect(bank.keys.all.last == letters[0].key)
    #expect(service.dispatcher.remove(letters[1]))
    #expect(!service.dispatcher.remove(letters[1]))
    await service.dispatcher.drain()
    #expect(service.dispatcher.deadLetters.isEmpty)
    #expect(service.orders.model.paid == [1])
    try await service.persistence?.flush()
    #expect(rows.isEmpty)
  }

  /// Where the work is when somebody removes it.
  enum Stage: CaseIterable { case attempted, waiting, pausing }

  @Test(arguments: [true, false], Stage.allCases)
  func areNotAttemptedOnceTheyAreRemoved(isPersistent: Bool, at stage: Stage) async throws {
    let (clock, begun) = (VirtualClock(), Recorder<Int>())
    let (dispatcher, warnings, persistence) = try await open(isPersistent: isPersistent, clock)
    dispatcher.register(
      effect: DurableEffect(
        "charge", on: OrderPlaced.self, attempts: nil, backoff: .constant(.seconds(60)),
        maxConcurrentRuns: 1
      ) { order, _ in
        begun.record(order.id)
        if stage == .pausing { throw BankIsClosed() }
        try await clock.sleep(for: .seconds(3_600))
        return nil
      })
    let first = dispatcher.dispatch(OrderPlaced(id: 1))
    _ = await begun.first(1)
    if stage == .pausing { await clock.waitForSleepers(atLeast: 1) }
    let second = dispatcher.dispatch(OrderPlaced(id: 2))
    _ = await second.result
    if stage == .pausing { _ = await begun.first(2) }
    let (removed, handle) = stage == .waiting ? (2, second) : (1, first)
    let work = try #require(
      dispatcher.pendingEffects.first { ($0.action as? OrderPlaced)?.id == removed })
    #expect(dispatcher.remove(work))
    #expect(!dispatcher.remove(work))
    #expect(dispatcher.pendingEffects.map(\.key).contains(work.key) == false)
    await handle.settled()
    if stage == .attempted { #expect(await begun.first(2) == [1, 2]) }
    for left in dispatcher.pendingEffects { #expect(dispatcher.remove(left)) }
    for handle in [first, second] { await handle.settled() }
    #expect(dispatcher.pendingEffects.isEmpty && dispatcher.deadLetters.isEmpty)
    #expect(begun.all == (stage == .waiting ? [1] : [1, 2]))
    #expect(warnings.all.allSatisfy { $0.kind == .effectFailed && stage == .pausing })
    #expect(await dispatcher.drain().isComplete)
    try await persistence?.flush()
    #expect(rows.isEmpty)
  }

  /// What prevents an attempt while its count is being saved.
  enum Prevention: CaseIterable { case removed, unregistered, closed, shutDown }

  @Test(arguments: Prevention.allCases)
  func areNotAttemptedIfThatIsPreventedBeforeTheirCountIsSaved(by prevention: Prevention)
    async throws
  {
    let begun = Recorder<Int>()
    try await leaveWork([1])
    let (dispatcher, _, persistence) = try await open(isPersistent: true)
    let registration = noteOrders(of: dispatcher, in: begun)
    database.hold()
    dispatcher.resumeWork()
    while dispatcher.pendingEffects.first?.attempts != 1 { await Task.yield() }
    switch prevention {
    case .removed: #expect(dispatcher.remove(dispatcher.pendingEffects[0]))
    case .unregistered: #expect(registration.unregister())
    case .closed: dispatcher.close()
    case .shutDown: dispatcher.shutDown()
    }
    database.release()
    while registration.runCount > 0 { await Task.yield() }
    #expect(begun.all.isEmpty)
    #expect(dispatcher.pendingEffects.map(\.attempts) == (prevention == .removed ? [] : [0]))
    try await persistence?.flush()
    #expect(rows.count == (prevention == .removed ? 0 : 1))
    hangs.open()
  }

  @Test(arguments: [true, false])
  func areNotRemovedOnceTheirActionIsDispatched(isPersistent: Bool) async throws {
    let service = try await PaymentService(isPersistent ? database : nil, ChargingBank())
    let (dispatcher, removals) = (service.dispatcher, Recorder<Bool?>())
    let token = service.orders.observe(.model) { change in
      guard !change.value.paid.isEmpty else { return }
      removals.record(dispatcher.pendingEffects.first.map { dispatcher.remove($0) })
    }
    let handle = dispatcher.dispatch(OrderPlaced())
    await handle.settled()
    #expect(await removals.first(1) == [false])
    #expect(service.orders.model.paid == [1])
    token.cancel()
    #expect(dispatcher.pendingEffects.isEmpty)
  }

  @Test(arguments: [true, false])
  func areRemovedAfterTheirActionHasFailed(isPersistent: Bool) async throws {
    let clock = VirtualClock()
    let (dispatcher, _, _) = try await open(isPersistent: isPersistent, clock)
    dispatcher.register(
      effect: DurableEffect("charge", on: OrderPlaced.self, backoff: .constant(.seconds(60))) {
        order, _ in
        OrderPaid(id: order.id)  // No store handles it.
      })
    dispatcher.dispatch(OrderPlaced(id: 1))
    await clock.waitForSleepers(atLeast: 1)
    let work = try #require(dispatcher.pendingEffects.first)
    #expect(dispatcher.remove(work))
    #expect(await dispatcher.drain().isComplete)
    #expect(dispatcher.pendingEffects.isEmpty && dispatcher.deadLetters.isEmpty)
  }

  /// With one, the action would be dispatched again, although it has committed.
  @Test(arguments: [true, false])
  func dispatchTheirActionWithoutADefaultTimeLimit(isPersistent: Bool) async throws {
    let (clock, bank) = (VirtualClock(), ChargingBank())
    let service = try await PaymentService(
      isPersistent ? database : nil, bank, clock: clock, defaults: .timeout(.seconds(1)))
    service.dispatcher.register(
      store: Store(identifier: "slow", model: 0) {
        On(OrderPaid.self) { _, _ in clock.advance(by: .seconds(2)) }
      }, waitFor: ["orders"])
    await service.dispatcher.dispatch(OrderPlaced()).settled()
    #expect(bank.keys.all.count == 1 && service.orders.model.paid == [1])
    try await service.persistence?.flush()
    #expect(rows.isEmpty && service.dispatcher.pendingEffects.isEmpty)
  }

  /// If one refused the action, the outside world would be reached again.
  @Test(arguments: [true, false], [true, false])
  func dispatchTheirActionAlthoughADefaultLimitOrABoundIsFull(
    isPersistent: Bool, isBound: Bool
  ) async throws {
    let (limit, bank) = (DispatchLimit(1, overflow: .wait), ChargingBank())
    let (isFull, free) = (Latch(), Latch())
    let service = try await PaymentService(
      isPersistent ? database : nil, bank, defaults: isBound ? [] : .limited(by: limit),
      limits: isBound ? DispatchLimits(queue: limit) : nil
    ) { await isFull.opened() }
    service.dispatcher.addStage()
    let handle = service.dispatcher.dispatch(OrderPlaced())
    #expect(await handle.result.isSuccess)
    let holder = service.dispatcher.dispatch(action: Script.holds(opening: isFull, until: free))
    await handle.settled()
    #expect(bank.keys.all.count == 1 && service.orders.model.paid == [1])
    #expect(service.warnings.all.isEmpty && limit.statistics.inFlight == 1)
    free.open()
    #expect(await holder.result.isSuccess)
  }

  @Test func dispatchTheirActionAlthoughTooMuchIsUnsaved() async throws {
    let (database, bank) = (database, ChargingBank())
    let orders = Locked<Store<OrderBook, HandledAction>?>(nil)
    let service = try await PaymentService(database, bank, saving: .rejecting(commits: 3)) {
      if !bank.keys.all.isEmpty { return }
      database.hold()
      let store = orders.withLock { $0 }
      for _ in 1...3 { store?.updateModel { $0.placed.append(0) } }
    }
    orders.withLock { $0 = service.orders }
    let handle = service.dispatcher.dispatch(OrderPlaced())
    let persistence = try #require(service.persistence)
    while !persistence.holdsDispatchesBack, service.warnings.all.isEmpty { await Task.yield() }
    database.release()
    await handle.settled()
    #expect(bank.keys.all.count == 1 && service.orders.model.paid == [1])
    #expect(service.warnings.all.isEmpty)
  }

  @Test(arguments: [true, false], [true, false])
  func ofAnUnregisteredEffectGoOnOnceItIsRegisteredAgain(
    isPersistent: Bool, isResumed: Bool
  ) async throws {
    let (dispatcher, registration, begun) = try await jam(
      100, isPersistent: isPersistent, Latch())
    let keys = Set(dispatcher.pendingEffects.map(\.key))
    #expect(registration.unregister())
    #expect(keys.count == 100 && Set(dispatcher.pendingEffects.map(\.key)) == keys)
    let again = Recorder<Int>()
    noteOrders(of: dispatcher, in: again, maxConcurrentRuns: 1)
    while !dispatcher.pendingEffects.isEmpty {
      if isResumed { dispatcher.resumeWork() }
      await Task.yield()
    }
    #expect(begun.all == [0] && again.all.sorted() == Array(0..<100))
  }

  /// Returns a service whose only work has become a dead letter.
  private func makeLetter(isPersistent: Bool) async throws -> (PaymentService, DeadLetter) {
    let service = try await PaymentService(
      isPersistent ? database : nil, ChargingBank(failing: 1), attempts: 1)
    await service.dispatcher.dispatch(OrderPlaced()).settled()
    return (service, try #require(service.dispatcher.deadLetters.first))
  }

  @Test(arguments: [true, false])
  func aDeadLetterThatAClosedDispatcherIsToRunAgainStays(isPersistent: Bool) async throws {
    let (service, letter) = try await makeLetter(isPersistent: isPersistent)
    let dispatcher = service.dispatcher
    dispatcher.close()
    #expect(!dispatcher.runAgain(letter))
    #expect(dispatcher.deadLetters.count == 1 && dispatcher.pendingEffects.isEmpty)
  }

  /// A recorder pauses a dispatcher while it travels.
  @Test(arguments: [true, false])
  func thatShouldBeginDuringAPauseOfTheirDispatcherBeginAfterIt(isPersistent: Bool) async throws {
    let (service, letter) = try await makeLetter(isPersistent: isPersistent)
    let dispatcher = service.dispatcher
    #expect(dispatcher.pause())
    #expect(dispatcher.runAgain(letter))
    #expect(dispatcher.pendingEffects.count == 1)
    dispatcher.endPause()
    await service.paid(1)
    await dispatcher.drain()
    #expect(dispatcher.pendingEffects.isEmpty)
  }

  /// Only the first one has been attempted, and is cancelled.
  @Test func thatAShutDownPreventsAreDeadLettersIfNotSaved() async throws {
    let (dispatcher, registration, begun) = try await jam(5, isPersistent: false, Latch())
    let warnings = Recorder<DispatchWarning.Kind>()
    dispatcher.onWarning { warnings.record($0.kind) }
    dispatcher.shutDown()
    registration.cancel()
    #expect(await dispatcher.drain().isComplete)
    #expect(dispatcher.pendingEffects.isEmpty && begun.all == [0])
    #expect(dispatcher.deadLetters.count == 5)
    #expect(warnings.all == Array(repeating: .deadLetter, count: 5))
  }

  @Test func ofAnUnregisteredEffectAreDeadLettersOnceTheirDispatcherCloses() async throws {
    let (dispatcher, registration, _) = try await jam(5, isPersistent: false, Latch())
    dispatcher.onWarning { _ in }
    #expect(registration.unregister())
    #expect(await dispatcher.drain().isComplete)
    #expect(dispatcher.pendingEffects.isEmpty && dispatcher.deadLetters.count == 5)
  }

  @Test func ofAnEffectThatIsGoneCanBeRemoved() async throws {
    try await leaveWork([1, 2])
    let next = Dispatcher(name: "payments")
    next.onWarning { _ in }
    let persistence = try await database.open(for: next, actions: ActionCoder(OrderPlaced.self))
    next.resumeWork()
    let left = next.pendingEffects
    #expect(left.count == 2)
    #expect(next.remove(left[0]))
    #expect(!next.remove(left[0]))
    #expect(next.pendingEffects.map(\.key) == [left[1].key])
    try await persistence.flush()
    #expect(rows.keys.sorted() == [left[1].key])
    database.crash()
    // The next deployment does not know the action either: its work is a dead letter.
    let last = Dispatcher(name: "payments")
    last.onWarning { _ in }
    let opened = try await database.open(for: last)
    last.resumeWork()
    #expect(!last.remove(left[1]))
    let letters = last.deadLetters
    #expect(letters.map(\.key) == [left[1].key])
    #expect(last.remove(letters[0]))
    #expect(last.deadLetters.isEmpty)
    try await opened.flush()
    #expect(rows.isEmpty)
    hangs.open()
  }

  @Test func areInTheDiagnosis() async throws {
    let (clock, bank) = (VirtualClock(), ChargingBank(failing: 9))
    let service = try await PaymentService(nil, bank, clock: clock, attempts: 2)
    service.dispatcher.dispatch(OrderPlaced(id: 1))
    _ = await bank.keys.first(1)
    await clock.waitForSleepers(atLeast: 1)
    service.dispatcher.dispatch(OrderPlaced(id: 2), options: .delayed(by: .seconds(600)))
    let pending = service.dispatcher.diagnosis()
    #expect(pending.scheduledCount == 1)
    #expect(pending.pendingEffects.map(\.attempts) == [1])
    #expect(pending.description.contains("1 scheduled."))
    #expect(pending.description.contains("the oldest \"charge\" after 1 failed attempts"))
    clock.advance(by: .seconds(60))
    _ = await service.warnings.first(2)
    #expect(service.dispatcher.diagnosis().deadLetters.map(\.name) == ["charge"])
    #expect(service.dispatcher.diagnosis().description.contains("1 dead letters"))
  }

  @Test(arguments: [true, false])
  func deadLettersSurviveARestart(isResumed: Bool) async throws {
    let bank = ChargingBank(failing: 1)
    let first = try await PaymentService(database, bank, attempts: 1)
    await first.dispatcher.dispatch(OrderPlaced()).settled()
    try await first.persistence!.flush()
    let key = first.dispatcher.deadLetters[0].key
    database.crash()
    let next = try await PaymentService(database, bank, resumes: isResumed)
    let letters = next.dispatcher.deadLetters
    #expect(letters.map(\.key) == [key])
    #expect(letters[0].error == "BankIsClosed()" && letters[0].attempts == 1)
    #expect(bank.keys.all.count == 1, "A dead letter does not run by itself.")
    #expect(next.dispatcher.runAgain(letters[0]))
    next.dispatcher.resumeWork()
    await next.paid(1)
    await next.dispatcher.drain()
    #expect(bank.keys.all == [key, key])
  }

  @Test func deadLettersOfAnEffectThatIsNotRegisteredWaitForIt() async throws {
    let first = try await PaymentService(database, ChargingBank(failing: 1), attempts: 1)
    await first.dispatcher.dispatch(OrderPlaced()).settled()
    try await first.persistence!.flush()
    database.crash()
    let (dispatcher, _, _) = try await open(isPersistent: true)
    dispatcher.resumeWork()
    let letter = try #require(dispatcher.deadLetters.first)
    #expect(dispatcher.runAgain(letter))
    #expect(dispatcher.deadLetters.isEmpty && dispatcher.pendingEffects.count == 1)
    let done = Recorder<Int>()
    noteOrders(of: dispatcher, in: done)
    #expect(await done.first(1) == [1])
    await dispatcher.drain()
  }

  @Test func whoseActionCanNotBeEncodedAreReportedAndKept() async throws {
    let first = try await PaymentService(database, ChargingBank(failing: 1), attempts: 1)
    for id in [-1, 2] { await first.dispatcher.dispatch(OrderPlaced(id: id)).settled() }
    #expect(first.orders.model == OrderBook(placed: [-1, 2], paid: [2]))
    try await first.persistence!.flush()
    await first.warnings.untilRecorded { $0.kind == .notEncodable }
    database.crash()
    let next = try await PaymentService(database, ChargingBank())
    #expect(next.orders.model == OrderBook(placed: [-1, 2], paid: [2]))
    #expect(next.dispatcher.deadLetters.map(\.name) == ["charge"])
    #expect(next.dispatcher.deadLetters[0].error.contains("can't be decoded"))
    #expect(next.warnings.all.map(\.kind) == [.workNotResumed])
  }

  @Test func goOnAfterARestartWithTheSameKey() async throws {
    let bank = ChargingBank()
    try await leaveWork([1])
    #expect(rows.count == 1)
    let key = try #require(rows.keys.first)
    let next = try await PaymentService(database, bank, resumes: false)
    #expect(next.orders.model == OrderBook(placed: [1], paid: []))
    #expect(next.dispatcher.pendingEffects.map(\.key) == [key])
    #expect(bank.keys.all.isEmpty)
    next.dispatcher.resumeWork()
    await next.paid(1)
    await next.dispatcher.drain()
    #expect(bank.keys.all == [key])
    #expect(rows.isEmpty)
    hangs.open()
  }

  /// A branch with books of its own, in the database of all.
  private func branch(
    _ name: String, in persistence: Persistence, waitingFor hangs: Latch? = nil
  ) async throws -> (Dispatcher, Store<OrderBook, HandledAction>) {
    let dispatcher = Dispatcher(name: name, persistence: persistence)
    let book = try await dispatcher.register(
      store: Store(identifier: "orders of \(name)", model: OrderBook()) {
        On(OrderPlaced.self) { book, order in book.placed.append(order.id) }
        On(OrderPaid.self) { book, order in book.paid.append(order.id) }
      }, persisted: .model)
    dispatcher.register(
      effect: DurableEffect("charge", on: OrderPlaced.self) { order, _ in
        await hangs?.opened()
        return OrderPaid(id: order.id)
      })
    return (dispatcher, book)
  }

  /// Opens the database of all branches.
  private func openForBranches() async throws -> Persistence {
    try await database.open(for: Dispatcher(name: "office"), actions: ActionCoder(OrderPlaced.self))
  }

  @Test func goOnInTheirOwnDispatcherIfOthersShareThePersistence() async throws {
    let (hangs, warnings) = (Latch(), Recorder<DispatchWarning>())
    let (south, _) = try await branch("south", in: openForBranches(), waitingFor: hangs)
    await south.send(OrderPlaced(id: 7))
    #expect(rows.count == 1)
    database.crash()
    let persistence = try await openForBranches()
    let (north, northBook) = try await branch("north", in: persistence)
    let (next, book) = try await branch("south", in: persistence)
    for dispatcher in [north, next] { dispatcher.onWarning { warnings.record($0) } }
    #expect(north.pendingEffects.isEmpty && next.pendingEffects.count == 1)
    north.resumeWork()
    #expect(north.pendingEffects.isEmpty && next.pendingEffects.count == 1)
    next.resumeWork()
    for await change in book.stream(.model, initial: true, buffering: .unbounded)
    where !change.value.paid.isEmpty { break }
    await next.drain()
    await north.drain()
    #expect(book.model == OrderBook(placed: [7], paid: [7]))
    #expect(northBook.model == OrderBook())
    #expect(warnings.all.isEmpty)
    hangs.open()
  }

  @Test func ofADispatcherThatIsNotMadeAreReportedAndStay() async throws {
    let (hangs, warnings) = (Latch(), Recorder<DispatchWarning>())
    let (south, _) = try await branch("south", in: openForBranches(), waitingFor: hangs)
    await south.send(OrderPlaced(id: 7))
    database.crash()
    let persistence = try await openForBranches()
    let (north, _) = try await branch("north", in: persistence)
    north.onWarning { warnings.record($0) }
    north.resumeWork()
    #expect(warnings.all.map(\.kind) == [.workNotResumed])
    #expect(warnings.all.first?.message.contains("no dispatcher is named \"south\"") == true)
    #expect(rows.count == 1)
    let (next, book) = try await branch("south", in: persistence)
    next.resumeWork()
    north.resumeWork()
    for await change in book.stream(.model, initial: true, buffering: .unbounded)
    where !change.value.paid.isEmpty { break }
    await next.drain()
    #expect(book.model == OrderBook(placed: [7], paid: [7]))
    #expect(warnings.count == 1)
    hangs.open()
  }

  @Test func areReconciledAfterARestartIfAsked() async throws {
    for wasDone in [true, false] {
      let (database, bank, hangs) = (MemoryDatabase(), ChargingBank(), Latch())
      let first = try await PaymentService(database, bank) { await hangs.opened() }
      await first.dispatcher.send(OrderPlaced())
      database.crash()
      let next = try await PaymentService(
        database, bank,
        onRestart: .reconcile { order, _ in
          wasDone ? .done(OrderPaid(id: order.id)) : .runAgain
        })
      await next.paid(1)
      #expect(bank.keys.all.count == (wasDone ? 0 : 1))
      await next.dispatcher.dispatch(OrderPlaced(id: 2)).settled()
      #expect(next.orders.model.paid == [1, 2])
      #expect(bank.keys.all.count == (wasDone ? 1 : 2), "New work is not reconciled.")
      hangs.open()
    }
  }

  /// Their last attempt has ended its process, perhaps after it had reached the bank.
  @Test(arguments: [true, false])
  func areReconciledIfTheirDeadLetterIsRunAgain(wasDone: Bool) async throws {
    let (bank, asked, begun, hangs) = (ChargingBank(), Recorder<Int>(), Recorder<Int>(), Latch())
    for process in 1...2 {
      let service = try await PaymentService(database, ChargingBank(), attempts: 1) {
        begun.record(process)
        await hangs.opened()
      }
      if process == 1 { service.dispatcher.dispatch(OrderPlaced()) }
      _ = await begun.first(process)
      database.crash()
    }
    let last = try await PaymentService(
      database, bank, attempts: 1,
      onRestart: .reconcile { order, _ in
        asked.record(order.id)
        return wasDone ? .done(OrderPaid(id: order.id)) : .runAgain
      })
    _ = await last.warnings.first(1)
    let letter = try #require(last.dispatcher.deadLetters.first)
    #expect(asked.all.isEmpty)
    #expect(last.dispatcher.runAgain(letter))
    await last.paid(1)
    #expect(asked.all == [1] && bank.keys.all.count == (wasDone ? 0 : 1))
    hangs.open()
  }

  @Test func areInTheTransactionOfTheirCauseAndOfTheirEnd() async throws {
    for commit in 0..<4 {
      let (database, bank) = (MemoryDatabase(), ChargingBank())
      let first = try await PaymentService(database, bank)
      database.failAtCommit(.crash, number: commit)
      for id in 1...2 { await first.dispatcher.dispatch(OrderPlaced(id: id)).settled() }
      let next = try await PaymentService(database, bank, resumes: false)
      let (book, rows) = (
        next.orders.model, database.rows(ofStore: "dispatchstore.work", part: 2)
      )
      #expect(book.placed.count == book.paid.count + rows.count)
      next.dispatcher.resumeWork()
      await next.paid(book.placed.count)
      #expect(next.orders.model.paid == book.placed)
      #expect(Set(bank.keys.all).count >= book.placed.count)
    }
  }

  @Test(arguments: [true, false])
  func areNotAttemptedOnceAnotherProcessHasTheirDatabase(fails: Bool) async throws {
    let (begun, latch) = (Recorder<Int>(), Latch())
    let (dispatcher, warnings, opened) = try await open(isPersistent: true)
    let persistence = try #require(opened)
    let registration = dispatcher.register(
      effect: DurableEffect(
        "charge", on: OrderPlaced.self, backoff: .none, maxConcurrentRuns: 1
      ) { order, _ in
        begun.record(order.id)
        await latch.opened()
        if fails { throw BankIsClosed() }
        return nil
      })
    for id in 0..<3 { await dispatcher.send(OrderPlaced(id: id)) }
    _ = await begun.first(1)
    try await persistence.flush()
    database.becomeOwned()
    await dispatcher.send(OrderPlaced(id: 3))
    await #expect(throws: PersistenceError.self) { try await persistence.flush() }
    latch.open()
    while registration.runCount > 0 { await Task.yield() }
    #expect(begun.count == 1)
    #expect(dispatcher.pendingEffects.count == (fails ? 4 : 3))
    #expect(dispatcher.deadLetters.isEmpty)
    #expect(!warnings.all.contains { $0.kind == .effectFailed || $0.kind == .deadLetter })
  }

  /// A process that stood still, or was cut off, does not know yet whether another one does its work.
  @Test(arguments: [true, false])
  func areAttemptedAfterTheEndOfTheLeaseOnceTheDatabaseHasAnswered(isReplaced: Bool) async throws {
    let (begun, latch) = (Recorder<Int>(), Latch())
    let (dispatcher, _, opened) = try await open(isPersistent: true)
    let persistence = try #require(opened)
    let registration = noteOrders(of: dispatcher, in: begun, maxConcurrentRuns: 1, until: latch)
    for id in 0..<3 { await dispatcher.send(OrderPlaced(id: id)) }
    _ = await begun.first(1)
    try await persistence.flush()
    database.hold()
    database.endLease()
    latch.open()
    while persistence.state.withLock(\.ownerQuestions.isEmpty) { await Task.yield() }
    #expect(begun.all == [0] && persistence.status.isLeaseOver)
    if isReplaced { database.becomeOwned() }
    database.release()
    while registration.runCount > 0 { await Task.yield() }
    #expect(begun.all == (isReplaced ? [0] : [0, 1, 2]))
    #expect(persistence.status.hasFailed == isReplaced)
    #expect(persistence.status.isLeaseOver == isReplaced)
  }

  @Test func makeTheirActionAtomic() async throws {
    let service = try await PaymentService(nil, ChargingBank())
    service.dispatcher.register(
      store: Store(identifier: "stock", model: 0) {
        Perform(OrderPlaced.self) { _, _ in }
      })
    let result = await service.dispatcher.send(OrderPlaced())
    #expect(result["stock"].error.map { ($0 as? DispatchError)?.code } == .notAtomic)
    #expect(service.orders.model.placed.isEmpty)
    await service.dispatcher.drain()
    #expect(service.orders.model.paid.isEmpty, "No work follows a failure.")
  }

  private struct NobodyHandlesThis: ActionType {}

  @Test(arguments: [true, false])
  func thatFailedForGoodRunOnceWhenTheyAreRunAgain(isPersistent: Bool) async throws {
    let service = try await PaymentService(isPersistent ? database : nil, ChargingBank())
    let (dispatcher, runs) = (service.dispatcher, Recorder<String>())
    let (failed, isOver) = (Locked(Set<String>()), Locked(false))
    dispatcher.register(
      effect: DurableEffect("second", on: OrderPlaced.self, attempts: 1) { order, context in
        runs.record(context.key)
        if failed.withLock({ $0.insert(context.key).inserted }) { throw BankIsClosed() }
        return OrderPaid(id: order.id + 1_000)
      })
    // Resumes all the time, while letters are run again as soon as they are there.
    async let resuming: Void = {
      while !isOver.withLock({ $0 }) {
        dispatcher.resumeWork()
        await Task.yield()
      }
    }()
    async let reviving: Void = {
      var count = 0
      while count < 200 {
        for letter in dispatcher.deadLetters where dispatcher.runAgain(letter) { count += 1 }
        await Task.yield()
      }
    }()
    for id in 1...200 { await dispatcher.send(OrderPlaced(id: id)) }
    await reviving
    await service.paid(400)
    isOver.withLock { $0 = true }
    await resuming
    await dispatcher.drain()
    #expect(service.orders.model.paid.sorted() == Array(1...200) + Array(1_001...1_200))
    #expect(runs.all.count == 400)
    try await service.persistence?.flush()
    #expect(rows.isEmpty)
  }

  /// A run that has failed for good saves its row while the program already looks at the dead letter.
  @Test func theRowOfALetterThatWasRemovedIsNotSavedLater() {
    let outbox = Outbox(of: "payments", DispatcherClock(VirtualClock()), in: nil)
    let entry = outbox.commit(DispatchID(rawValue: 1), "charge", OrderPlaced())
    #expect(entry.withProgress { $0.fail("closed", of: 1, at: 0) } == .isDeadLetter)
    let row = entry.row
    #expect(row.isCurrent?() == true)
    #expect(outbox.remove(entry.key, isLetter: true))
    #expect(row.isCurrent?() == false)
  }

  @Test(arguments: [true, false], [true, false])
  func failIfTheirActionFailsOrNoStoreHandlesIt(isPersistent: Bool, isHandled: Bool) async throws {
    let service = try await PaymentService(isPersistent ? database : nil, ChargingBank())
    let attempts = Recorder<String>()
    service.dispatcher.register(
      effect: DurableEffect("other", on: OrderPlaced.self, attempts: 2, backoff: .none) {
        order, context in
        attempts.record(context.key)
        if isHandled { return OrderRefused(id: order.id) }
        return NobodyHandlesThis()
      })
    await service.dispatcher.dispatch(OrderPlaced()).settled()
    #expect(attempts.all.count == 2 && Set(attempts.all).count == 1)
    #expect(service.dispatcher.deadLetters.map(\.name) == ["other"])
    let error = service.dispatcher.deadLetters.first?.error
    #expect(error?.contains("NobodyHandlesThis") == !isHandled)
  }

  /// Otherwise each attempt would begin the next step anew, with another key.
  @Test(arguments: [true, false])
  func whoseActionNoStoreHandlesAreFollowedByNothing(isPersistent: Bool) async throws {
    let (clock, keys, mails) = (VirtualClock(), Recorder<String>(), Recorder<String>())
    let (dispatcher, warnings, persistence) = try await open(isPersistent: isPersistent, clock)
    registerCharge(with: dispatcher, noting: keys)
    dispatcher.register(
      effect: DurableEffect("mail", on: OrderPaid.self) { _, context in
        mails.record(context.key)
        return nil
      })
    let handle = dispatcher.dispatch(OrderPlaced())
    _ = await warnings.first(1)
    await clock.pass(.seconds(60))
    #expect(await warnings.first(2).map(\.kind) == [.effectFailed, .effectFailed])
    #expect(mails.all.isEmpty)
    dispatcher.register(
      store: Store(identifier: "book", model: OrderBook()) {
        On(OrderPaid.self) { book, order in book.paid.append(order.id) }
      })
    await clock.pass(.seconds(60))
    await handle.settled()
    #expect(keys.all.count == 3 && Set(keys.all).count == 1)
    #expect(mails.all.count == 1)
    #expect(dispatcher.pendingEffects.isEmpty && dispatcher.deadLetters.isEmpty)
    try await persistence?.flush()
    #expect(rows.isEmpty)
  }

  @Test(arguments: [true, false])
  func failIfTheirActionIsCancelledAlone(isPersistent: Bool) async throws {
    let (clock, keys) = (VirtualClock(), Recorder<String>())
    let (dispatcher, warnings, persistence) = try await open(isPersistent: isPersistent, clock)
    dispatcher.register(
      store: Store(identifier: "book", model: OrderBook()) {
        On(OrderPaid.self) { _, _ in throw CancellationError() }
      })
    registerCharge(with: dispatcher, noting: keys)
    let handle = dispatcher.dispatch(OrderPlaced())
    for attempt in 1...2 {
      _ = await keys.first(attempt)
      await clock.pass(.seconds(60))
    }
    await handle.settled()
    #expect(keys.all.count == 3 && Set(keys.all).count == 1)
    #expect(dispatcher.deadLetters.map(\.attempts) == [3])
    #expect(warnings.all.map(\.kind) == [.effectFailed, .effectFailed, .deadLetter])
    try await persistence?.flush()
  }

  @Test(arguments: [true, false])
  func areNotCancelledWithTheirClientBeforeTheyBegin(isPersistent: Bool) async throws {
    let service = try await PaymentService(isPersistent ? database : nil, ChargingBank())
    let isCancelled = DispatchSemaphore(value: 0)
    // The completion runs before the effects begin.
    let handle = service.dispatcher.dispatch(OrderPlaced()) { _ in isCancelled.wait() }
    await service.placed(1)
    handle.cancelWithEffects()
    isCancelled.signal()
    #expect(await handle.result.isSuccess)
    await service.paid(1)
  }

  @Test func areNotCancelledWithTheClientThatHasCausedThem() async throws {
    let (bank, begun, isCancelled) = (ChargingBank(), Latch(), Latch())
    let service = try await PaymentService(database, bank) {
      begun.open()
      // The first run waits until its task knows.
      await isCancelled.openedOrCancelled()
      try Task.checkCancellation()
    }
    let handle = service.dispatcher.dispatch(OrderPlaced(), options: .timeout(.seconds(100)))
    #expect(await handle.result.isSuccess)
    await begun.opened()
    handle.cancelWithEffects()
    await service.paid(1)
    #expect(bank.keys.all.count == 1)
  }

  @Test(arguments: [true, false], Way.all)
  func beginAlthoughADeadlineHasPassedWhileTheStoresChanged(
    isPersistent: Bool, way: Way
  ) async throws {
    let (clock, bank) = (VirtualClock(), ChargingBank())
    let service = try await PaymentService(isPersistent ? database : nil, bank, clock: clock)
    let dispatcher = service.dispatcher
    dispatcher.register(
      store: Store(identifier: "slow", model: 0) {
        On(OrderPlaced.self) { _, _ in clock.advance(by: .seconds(2)) }
      }, waitFor: ["orders"])
    let result = await dispatcher.begin(
      action: OrderPlaced(), way.mode, .timeout(.seconds(1)), sends: way.sends
    ).value
    #expect(result.dispatchError?.code == .timedOut)
    await service.paid(1)
    #expect(service.orders.model.placed == [1])
    #expect(bank.keys.all.count == 1)
  }

  /// The client is being cancelled: its followers are refused, and the run has not been told yet.
  @Test(arguments: [true, false])
  func haveNotFailedIfTheirActionIsCancelledWithTheClient(isPersistent: Bool) async throws {
    let (bank, isKnown) = (ChargingBank(), Latch())
    let client = Locked<(handle: DispatchHandle, queue: OperationQueue)?>(nil)
    let service = try await PaymentService(isPersistent ? database : nil, bank) {
      await isKnown.opened()
      guard bank.keys.all.isEmpty, let (handle, queue) = client.withLock(\.self),
        let run = handle.dispatch?.details?.children.first
      else { return }
      run.refuseFollowers()
      // The action must not run before it is cancelled.
      queue.isSuspended = true
      Task {
        while !run.hasEnded.load(ordering: .acquiring),
          !run.children.contains(where: { $0.withState(\.isCancelled) })
        { await Task.yield() }
        queue.isSuspended = false
      }
    }
    let handle = service.dispatcher.dispatch(OrderPlaced())
    client.withLock { $0 = (handle, service.dispatcher.queue) }
    isKnown.open()
    await service.paid(1)
    #expect(service.warnings.all.isEmpty)
    #expect(bank.keys.all.count == 2 && Set(bank.keys.all).count == 1)
  }

  @Test func leaveTheirPausesToTheNextProcess() async throws {
    let (clock, bank) = (VirtualClock(), ChargingBank(failing: 1))
    let first = try await PaymentService(database, bank, clock: clock)
    let handle = first.dispatcher.dispatch(OrderPlaced())
    await clock.waitForSleepers(atLeast: 1)
    await first.dispatcher.drain()
    await handle.settled()
    #expect(first.dispatcher.pendingEffects.count == 1)
    try await first.persistence!.close()
    let next = try await PaymentService(database, bank)
    await next.paid(1)
    #expect(bank.keys.all.count == 2 && Set(bank.keys.all).count == 1)
  }

  @Test func thatEndTheirProcessAreDeadLettersInTheEnd() async throws {
    let (begun, hangs) = (Recorder<Int>(), Latch())
    for process in 1...4 {
      let service = try await PaymentService(database, ChargingBank(), attempts: 3) {
        begun.record(1)
        await hangs.opened()
      }
      if process == 1 { service.dispatcher.dispatch(OrderPlaced()) }
      _ = await begun.first(process)
      database.crash()
    }
    let last = try await PaymentService(database, ChargingBank(), attempts: 3)
    #expect(await last.warnings.first(1).map(\.kind) == [.deadLetter])
    let letter = last.dispatcher.deadLetters[0]
    #expect(letter.attempts == 3 && letter.error == "The process ended during the attempt.")
    #expect(last.dispatcher.runAgain(letter))
    await last.paid(1)
    hangs.open()
  }

  @Test func thatAreInterruptedInOrderKeepTheirAttempts() async throws {
    let (begun, hangs) = (Recorder<Int>(), hangs)
    try await leaveWork([1])
    let next = try await PaymentService(database, ChargingBank()) {
      begun.record(1)
      await hangs.opened()
    }
    _ = await begun.first(1)
    #expect(next.dispatcher.pendingEffects.map(\.attempts) == [1])
    next.dispatcher.shutDown()
    hangs.open()
    await next.dispatcher.drain()
    #expect(next.dispatcher.pendingEffects.map(\.attempts) == [0])
    try await next.persistence!.close()
    let last = try await PaymentService(database, ChargingBank())
    await last.paid(1)
  }

  @Test(arguments: [true, false])
  func ofAClosedDispatcherWithoutPersistenceBecomeDeadLetters(failsLater: Bool) async throws {
    let (clock, bank, goesOn) = (VirtualClock(), ChargingBank(failing: 2), Latch())
    let service = try await PaymentService(nil, bank, clock: clock) {
      if failsLater { await goesOn.opened() }
    }
    service.dispatcher.dispatch(OrderPlaced())
    if failsLater {
      service.dispatcher.close()
      goesOn.open()
    } else {
      await clock.waitForSleepers(atLeast: 1)
    }
    await service.dispatcher.drain()
    #expect(service.warnings.all.last?.kind == .deadLetter)
    #expect(service.dispatcher.pendingEffects.isEmpty)
    let letters = service.dispatcher.deadLetters
    #expect(letters.map(\.attempts) == [1])
    #expect(!service.dispatcher.runAgain(letters[0]), "Nobody would do it.")
    #expect(service.dispatcher.deadLetters.count == 1)
  }

  @Test func ofAnEffectThatIsRegisteredAfterTheCloseAreDeadLettersIfTheyFail() async throws {
    let (dispatcher, warnings, _) = try await open(isPersistent: false, VirtualClock())
    let charge = DurableEffect("charge", on: OrderPlaced.self) { _, _ in throw BankIsClosed() }
    dispatcher.addStage()
    let places = Script.runs { _ in
      dispatcher.close()
      dispatcher.register(effect: charge)
      dispatcher.dispatch(OrderPlaced())
    }
    await dispatcher.perform(places, .async)
    #expect(await dispatcher.drain().isComplete)
    #expect(warnings.all.last?.kind == .deadLetter)
    #expect(dispatcher.deadLetters.map(\.attempts) == [1])
  }

  @Test func haveTheirAttemptsCountedOverRestarts() async throws {
    let bank = ChargingBank(failing: 3)
    for attempt in 1...3 {
      let service = try await PaymentService(database, bank, clock: VirtualClock(), attempts: 3)
      if attempt == 1 { service.dispatcher.dispatch(OrderPlaced()) }
      _ = await service.warnings.first(1)
      #expect(service.dispatcher.pendingEffects.map(\.attempts) == (attempt < 3 ? [attempt] : []))
      await service.dispatcher.drain()
      try await service.persistence!.close()
    }
    let next = try await PaymentService(database, bank)
    #expect(next.dispatcher.deadLetters.map(\.attempts) == [3])
    #expect(bank.keys.all.count == 3)
  }

  @Test func aDrainThatTheyHoldUpNamesThem() async throws {
    let hangs = Latch()
    let service = try await PaymentService(nil, ChargingBank()) { await hangs.opened() }
    service.dispatcher.tracksInFlight = true
    await service.dispatcher.send(OrderPlaced())
    let report = await service.dispatcher.drain(timeout: .zero)
    #expect(!report.isComplete)
    #expect(report.description.contains("is not drained: effects run"))
    #expect(report.description.contains("The durable effect \"charge\""))
    #expect(report.description.contains(": 1 run"))
    hangs.open()
    #expect(await service.dispatcher.drain().isComplete)
  }

  @Test func keepAnActionThatIsNotKnownAnyLonger() async throws {
    let bank = ChargingBank()
    try await leaveWork([1])
    let saved = rows
    // As after a deployment that has renamed the type.
    let renamed = Dispatcher(name: "payments")
    let warnings = Recorder<DispatchWarning>()
    renamed.onWarning { warnings.record($0) }
    try await database.open(for: renamed)
    renamed.resumeWork()
    #expect(warnings.all.map(\.kind) == [.workNotResumed])
    #expect(warnings.all[0].message.contains("\"charge\""))
    #expect(renamed.deadLetters.map(\.name) == ["charge"])
    #expect(renamed.deadLetters[0].error.contains("OrderPlaced"))
    #expect(rows == saved)
    database.crash()
    let next = try await PaymentService(database, bank)
    await next.paid(1)
    #expect(bank.keys.all.count == 1)
    hangs.open()
  }

  @Test func ofASequenceBeginOnceItIsSaved() async throws {
    let bank = ChargingBank()
    let service = try await PaymentService(database, bank)
    database.hold()
    let handle = service.dispatcher.dispatch(actions: [OrderPlaced(id: 1), OrderPlaced(id: 2)])
    await service.placed(2)
    #expect(bank.keys.all.isEmpty)
    database.release()
    #expect(await handle.result.isSuccess)
    await service.paid(2)
    #expect(Set(bank.keys.all).count == 2)
  }

  @Test func areSavedBeforeTheirCauseEndsAlthoughItChangesNothing() async throws {
    let (dispatcher, _, persistence) = try await open(isPersistent: true)
    try await dispatcher.register(
      store: Store(identifier: "book", model: OrderBook()) {
        On(OrderPlaced.self) { _, _ in Reduction.unchanged() }
      }, persisted: .model)
    let (ends, hangs) = (Recorder<Bool>(), Latch())
    dispatcher.register(
      effect: DurableEffect("charge", on: OrderPlaced.self) { _, _ in
        await hangs.opened()
        return nil
      })
    database.hold()
    let handle = dispatcher.dispatch(OrderPlaced()) { ends.record($0.isSuccess) }
    while dispatcher.pendingEffects.isEmpty { await Task.yield() }
    #expect(ends.all.isEmpty)
    database.release()
    #expect(await handle.result.isSuccess)
    #expect(rows.count == 1)
    hangs.open()
    await handle.settled()
    try await persistence?.flush()
    #expect(rows.isEmpty)
  }

  /// Otherwise the row of its work would stay, without a run, until the next process.
  @Test(arguments: [true, false])
  func ofAnEffectThatComesDuringADispatchFollowTheNextOneAlsoIfAWeakStoreGoes(
    isPersistent: Bool
  ) async throws {
    let (dispatcher, _, persistence) = try await open(isPersistent: isPersistent)
    func makeStore(_ identifier: String) -> Store<OrderBook, HandledAction> {
      Store(identifier: identifier, model: OrderBook()) {
        On(OrderPlaced.self) { book, order in book.placed.append(order.id) }
      }
    }
    if isPersistent {
      try await dispatcher.register(store: makeStore("book"), persisted: .model)
    } else {
      dispatcher.register(store: makeStore("book"))
    }
    let (kept, begun) = (Recorder<Store<OrderBook, HandledAction>>(), Recorder<Int>())
    kept.record(dispatcher.register(store: makeStore("weak"), ownership: .weak))
    let hook = BeginHook {
      _ = kept.removeAll()
      dispatcher.register(
        effect: DurableEffect("charge", on: OrderPlaced.self) { order, _ in
          begun.record(order.id)
          return nil
        })
    }
    dispatcher.register(middleware: hook)
    let first = dispatcher.dispatch(OrderPlaced(id: 1))
    #expect(await first.result.isSuccess)
    dispatcher.unregister(middleware: hook)
    await first.settled()
    try await persistence?.flush()
    #expect(begun.all.isEmpty && rows.isEmpty && dispatcher.pendingEffects.isEmpty)
    await dispatcher.dispatch(OrderPlaced(id: 2)).settled()
    #expect(begun.all == [2])
  }
}
