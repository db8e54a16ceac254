import DispatchStoreTesting
import Foundation
import Testing

@testable import DispatchStore

/// Called once when a `Gated` is set to the total 1.
private let whenSetToOne = Locked<(@Sendable () -> Void)?>(nil)

private struct Gated: Sendable {
  var total = 0
  private var entries = TrackedDictionary<Int, Int>()

  var named: TrackedDictionary<Int, Int> {
    get { entries }
    set {
      entries = newValue
      if total == 1 { whenSetToOne.exchange(nil)?() }
    }
  }
}

@Suite("Time travel", .timeLimit(.minutes(10)))
struct TimeTravelTests {
  private let dispatcher = Dispatcher(name: "bank")
  private let recorder: DispatchRecorder
  private let stores: [LedgerStore]

  init() {
    recorder = DispatchRecorder()
    dispatcher.register(middleware: recorder)
    stores = ["one", "two"].map { [dispatcher] in dispatcher.registerLedger($0) }
  }

  private func book(_ amount: Int, to store: String? = nil) -> DispatchHandle {
    dispatcher.dispatch(Book(customer: "c\(amount % 3)", amount: amount), to: store, mode: .sync)
  }

  private func number(_ handle: DispatchHandle) -> UInt64 { handle.dispatchID.number }

  @Test func anEarlierStateIsReadWithoutTouchingTheStore() {
    var states = [stores[0].model]
    for amount in 1...20 {
      _ = book(amount)
      states.append(stores[0].model)
    }
    for (version, state) in states.enumerated() {
      #expect(recorder.state(of: stores[0], at: UInt64(version)) == state)
    }
    #expect(recorder.state(of: stores[0], at: 21) == nil)
    #expect(stores[0].version == 20 && stores[0].model == states[20])
  }

  @Test func aRecorderWithoutModelsDoesNotTravel() async {
    let (_, recorder) = makeRecorded(DispatchRecorder(recordsModels: false), by: dispatcher)
    let first = book(1)
    _ = book(2)
    let error = await #expect(throws: TravelError.self) {
      try await recorder.travel(to: number(first))
    }
    #expect(error?.code == .tooFarBack && !recorder.isTravelling)
    #expect(await book(3).result.isSuccess)
  }

  @Test func aVersionThatIsNoLongerKeptIsNil() {
    let (_, recorder) = makeRecorded(DispatchRecorder(limit: 8), by: dispatcher)
    for amount in 1...100 { _ = book(amount) }
    #expect(recorder.state(of: stores[0], at: 98) != nil)
    #expect(recorder.state(of: stores[0], at: 50) == nil)
  }

  @Test func allStoresAreSetInOneStepAndComeBack() async throws {
    var (handles, states): ([DispatchHandle], [[Ledger]]) = ([], [])
    for amount in 1...10 {
      handles.append(book(amount, to: amount % 4 == 0 ? "two" : nil))
      states.append(stores.map(\.model))
    }
    for index in [3, 0, 8, 5] {
      try await recorder.travel(to: number(handles[index]))
      #expect(stores.map(\.model) == states[index])
      #expect(recorder.isTravelling)
    }
    try await recorder.resume()
    #expect(stores.map(\.model) == states[9] && !recorder.isTravelling)
    #expect(await book(100).result.isSuccess)
    #expect(stores[0].model.total == states[9][0].total + 100)
    // Earlier versions are still known, although the versions have gone on.
    #expect(recorder.state(of: stores[1], at: 3) == states[2][1])
  }

  @Test(arguments: Way.all, [false, true])
  func aTravelLosesNoCommitThatObserversAreNotToldOf(way: Way, isAtomic: Bool) async throws {
    let store = dispatcher.registerQuiet()
    let first = await dispatcher.add(5, by: way, isAtomic: isAtomic)
    await dispatcher.add(5, by: way, isAtomic: isAtomic)
    await dispatcher.add(7, isHidden: true, by: way, isAtomic: isAtomic)
    try await recorder.travel(to: first)
    #expect(store.model == 5)
    try await recorder.resume()
    #expect(store.model == 17)
    #expect(recorder.log.entries.last?.stores.first?.newVersion == 3)
  }

  @Test(arguments: Way.all)
  func nothingElseRunsBeforeResume(way: Way) async throws {
    let (effects, hooks) = (Locked(0), Locked(0))
    dispatcher.register(effect: Effect(Book.self) { _, _ in effects.withLock { $0 += 1 } })
    dispatcher.register(
      .before(Book.self) { _, _ in
        hooks.withLock { $0 += 1 }
        return .pass
      })
    let first = book(1)
    await book(2).settled()
    try await recorder.travel(to: number(first))
    let before = hooks.withLock(\.self)
    let result = await dispatcher.run(Book(customer: "x", amount: 1), way)
    #expect(result.dispatchError?.code == .dispatcherPaused)
    #expect(hooks.withLock(\.self) == before)
    #expect(stores[0].model.total == 1)
    try await recorder.resume()
    #expect(stores[0].model.total == 3)
    #expect(effects.withLock(\.self) == 2)
    #expect(await book(3).result.isSuccess)
  }

  @Test func dispatchesUnderWayEndBeforeTheStoresAreSet() async throws {
    let (dispatcher, entered, goOn) = (dispatcher, Latch(), Latch())
    dispatcher.addStage()
    let first = book(1)
    let slow = dispatcher.dispatch(
      action: Script.suspends { _ in
        entered.open()
        await goOn.opened()
        await dispatcher.send(Book(customer: "late", amount: 100))
      })
    await entered.opened()
    async let travel: Void = recorder.travel(to: number(first))
    var accepted = 0
    while await book(7).result.dispatchError?.code != .dispatcherPaused { accepted += 1 }
    goOn.open()
    try await travel
    #expect(await slow.result.isSuccess)
    #expect(stores.map(\.model.total) == [1, 1])
    try await recorder.resume()
    let total = 101 + 7 * accepted
    #expect(stores.map(\.model.total) == [total, total])
  }

  @Test func aTravelThatWaitsTooLongChangesNothing() async throws {
    let (entered, goOn) = (Latch(), Latch())
    dispatcher.addStage()
    let first = book(1)
    let slow = dispatcher.dispatch(action: Script.holds(opening: entered, until: goOn))
    await entered.opened()
    let error = await #expect(throws: TravelError.self) {
      try await recorder.travel(to: number(first), timeout: .milliseconds(1))
    }
    #expect(error?.code == .busy)
    #expect(await book(2).result.isSuccess)
    goOn.open()
    await slow.ended()
  }

  @Test(arguments: [false, true])
  func aLongLivedEffectThatShouldHaveBegunMeanwhileBeginsAtTheEnd(isRestarted: Bool) async throws {
    let runs = Recorder<Int>()
    let effect = Effect.longLived { _ in runs.record(1) }
    let first = book(1)
    _ = book(2)
    var registration: EffectRegistration?
    if isRestarted {
      registration = dispatcher.register(effect: effect)
      _ = await runs.first(1)
    }
    try await recorder.travel(to: number(first))
    if let registration { registration.restart() } else { dispatcher.register(effect: effect) }
    #expect(runs.count == (isRestarted ? 1 : 0))
    try await recorder.resume()
    _ = await runs.first(isRestarted ? 2 : 1)
  }

  @Test func aLongLivedEffectBeginsAfterATravelThatFails() async {
    let (runs, entered, goOn) = (Recorder<Int>(), Latch(), Latch())
    dispatcher.addStage()
    let first = number(book(1))
    let slow = dispatcher.dispatch(action: Script.holds(opening: entered, until: goOn))
    await entered.opened()
    let travel = Task { [recorder] in try await recorder.travel(to: first) }
    while await book(2).result.dispatchError?.code != .dispatcherPaused { await Task.yield() }
    dispatcher.register(effect: .longLived { _ in runs.record(1) })
    travel.cancel()
    let error = await #expect(throws: TravelError.self) { try await travel.value }
    #expect(error?.code == .busy)
    _ = await runs.first(1)
    goOn.open()
    await slow.ended()
  }

  @Test func stateThatIsKeptGoesOnFromThere() async throws {
    let first = book(1)
    _ = book(2)
    try await recorder.travel(to: number(first))
    try await recorder.resume(keepingState: true)
    #expect(stores.map(\.model.total) == [1, 1])
    let last = book(10)
    #expect(stores.map(\.model.total) == [11, 11])
    _ = book(20)
    try await recorder.travel(to: number(last))
    #expect(stores.map(\.model.total) == [11, 11])
    try await recorder.travel(to: number(first))
    #expect(stores.map(\.model.total) == [1, 1])
    try await recorder.resume()
    #expect(stores.map(\.model.total) == [31, 31])
  }

  @Test func aPlaceThatIsNotKnownIsAnErrorAndChangesNothing() async throws {
    let first = book(1)
    let unknown = await #expect(throws: TravelError.self) { try await recorder.travel(to: 1 << 40) }
    #expect(unknown?.code == .notInLog)
    stores[0].updateModel { $0.customers = [:] }
    let far = await #expect(throws: TravelError.self) {
      try await recorder.travel(to: number(first))
    }
    #expect(far?.code == .tooFarBack)
    #expect(await book(2).result.isSuccess)
    let none = await #expect(throws: TravelError.self) {
      try await DispatchRecorder().travel(to: 1)
    }
    #expect(none?.code == .notInLog)
  }

  @Test func observersSeeATravelAndMiddlewareDoesNot() async throws {
    let totals = Recorder<Int>()
    let token = stores[0].observe(.part(\.total)) { totals.record($0.value) }
    let first = book(1)
    _ = book(2)
    let count = recorder.log.entries.count
    try await recorder.travel(to: number(first))
    try await recorder.resume()
    #expect(totals.all == [1, 3, 1, 3])
    #expect(recorder.log.entries.count == count)
    withExtendedLifetime(token) {}
  }

  @Test func anObserverMayChangeTheStoresThatATravelSets() async throws {
    let counter = dispatcher.register(store: .counter("counter"))
    let actions = Recorder<CounterAction?>()
    let tokens = [
      stores[0].observe(.part(\.total)) { [stores] change in
        stores[0].updateModel { $0.customers["all"] = Customer(name: "\(change.value)") }
      },
      counter.observe(.part(\.count)) { change in
        counter.updateModel { $0.notes = ["\(change.value)"] }
      },
      counter.observe(.part(\.notes)) { actions.record($0.action) },
    ]
    let first = book(1)
    _ = book(2)
    await counter.send(.add(1))
    try await recorder.travel(to: number(first))
    #expect(stores[0].model.customers["all"]?.name == "1")
    #expect(counter.model == Counter(notes: ["0"]))
    try await recorder.resume()
    #expect(stores[0].model.customers["all"]?.name == "3")
    #expect(counter.model == Counter(count: 1, notes: ["1"]))
    #expect(actions.all == [.add(1), nil, nil, nil])
    for token in tokens { token.cancel() }
  }

  @Test func stateThatIsKeptLeavesNoWayBackToWhatCameAfterIt() async throws {
    let handles = (1...5).map { book($0) }
    try await recorder.travel(to: number(handles[1]))
    try await recorder.resume(keepingState: true)
    _ = book(100)
    let error = await #expect(throws: TravelError.self) {
      try await recorder.travel(to: number(handles[3]))
    }
    #expect(error?.code == .tooFarBack)
    #expect(recorder.state(of: stores[0], at: 2)?.total == 3)
    #expect(recorder.state(of: stores[0], at: 4) == nil)
    try await recorder.travel(to: number(handles[0]))
    #expect(stores[0].model.total == 1)
    try await recorder.resume()
    #expect(stores[0].model.total == 103)
  }

  @Test func theVersionsOfATravelAreThoseOfItsStates() async throws {
    let first = book(1)
    _ = book(2)
    try await recorder.travel(to: number(first))
    #expect(recorder.state(of: stores[0], at: stores[0].version)?.total == 1)
    try await recorder.resume()
    #expect(recorder.state(of: stores[0], at: stores[0].version)?.total == 3)
    #expect(recorder.state(of: stores[0], at: 3) == nil)
    #expect(recorder.state(of: stores[0], at: 1)?.total == 1)
    _ = book(4)
    #expect(recorder.log.entries.last?.stores.first?.oldVersion == 4)
  }

  @Test func earlierStatesAreReadDuringATravelAndAfterAChangeInIt() async throws {
    let first = book(1)
    _ = book(2)
    let store = stores[0]
    func totals() -> [Int?] {
      (0...5).map { recorder.state(of: store, at: UInt64($0))?.total }
    }
    #expect(totals() == [0, 1, 3, nil, nil, nil])
    try await recorder.travel(to: number(first))
    #expect(totals() == [0, 1, 3, 1, nil, nil])
    store.updateModel { $0.total = 77 }
    #expect(totals() == [0, 1, 3, 1, 77, nil])
    store.updateModel { $0.total = 78 }
    #expect(totals() == [0, 1, 3, 1, 77, 78])
    try await recorder.resume(keepingState: true)
    #expect(totals() == [0, 1, nil, 1, 77, 78])
  }

  @Test func anObserverReadsEarlierStatesWhileItsStoreIsSet() async throws {
    let (store, totals) = (stores[0], Locked<[[Int?]]>([]))
    let first = book(1)
    _ = book(2)
    let token = store.observe(.model) { [recorder] _ in
      let states = (0...2).map { recorder.state(of: store, at: UInt64($0))?.total }
      totals.withLock { $0.append(states) }
    }
    try await recorder.travel(to: number(first))
    try await recorder.resume()
    #expect(totals.withLock(\.self) == [[0, 1, 3], [0, 1, 3]])
    withExtendedLifetime(token) {}
  }

  @Test func aRecorderTravelsUntilTheLastStatesAreSet() async throws {
    let first = book(1)
    let second = book(2)
    _ = book(4)
    let seen = Recorder<Bool>()
    let token = stores[0].observe(.model) { [recorder] _ in seen.record(recorder.isTravelling) }
    try await recorder.travel(to: number(first))
    try await recorder.travel(to: number(second))
    try await recorder.resume()
    #expect(seen.all == [false, true, true] && !recorder.isTravelling)
    token.cancel()
  }

  @Test func aChangeOutsideOfDispatchesIsLostWithTheNextStep() async throws {
    let first = book(1)
    _ = book(2)
    let present = stores.map(\.model)
    try await recorder.travel(to: number(first))
    for _ in 0..<2 {
      stores[0].updateModel { ledger in
        ledger.total = 77
        ledger.customers["outside"] = Customer(name: "x")
      }
      try await recorder.resume()
      #expect(stores.map(\.model) == present)
      try await recorder.travel(to: number(first))
      #expect(stores[0].model.total == 1)
    }
    try await recorder.resume()
    #expect(stores.map(\.model) == present)
  }

  @Test func aResumeWithoutAWayBackIsAnErrorAndChangesNothing() async throws {
    let first = book(1)
    _ = book(2)
    try await recorder.travel(to: number(first))
    stores[0].updateModel { $0.customers = [:] }
    let before = stores.map(\.model)
    for _ in 0..<2 {
      let error = await #expect(throws: TravelError.self) { try await recorder.resume() }
      #expect(error?.code == .tooFarBack && recorder.isTravelling)
      #expect(stores.map(\.model) == before && stores.map(\.version) == [4, 3])
    }
    try await recorder.resume(keepingState: true)
    #expect(await book(10).result.isSuccess)
    #expect(stores.map(\.model.total) == [11, 11])
  }

  @Test func aResumeOrTravelWhoseCommitsArePushedOutIsAnErrorAndChangesNothing() async throws {
    let (dispatcher, recorder) = makeRecorded(DispatchRecorder(limit: 8))
    let store = dispatcher.registerLedger()
    let ids = (1...8).map { amount in
      let book = Book(customer: "a", amount: amount)
      return number(dispatcher.dispatch(book, mode: .sync))
    }
    try await recorder.travel(to: ids[1])
    // More than the recorder keeps beside the 8 from before.
    for _ in 0..<11 { store.updateModel { $0.total += 100 } }
    let resumed = await #expect(throws: TravelError.self) { try await recorder.resume() }
    let moved = await #expect(throws: TravelError.self) { try await recorder.travel(to: ids[6]) }
    #expect(resumed?.code == .tooFarBack && moved?.code == .tooFarBack)
    #expect(store.model.total == 1_103)
    try await recorder.resume(keepingState: true)
    #expect(await store.send(Book(customer: "a", amount: 1)).result.isSuccess)
  }

  @Test(arguments: [(8, nil), (1_000, 20_000)] as [(Int, Int?)])
  func aFullRecorderKeepsTheWayBackOfATravel(limit: Int, byteLimit: Int?) async throws {
    /// Books until the recorder drops something, or that often.
    func fill(
      atMost count: Int
    ) -> (dispatcher: Dispatcher, recorder: DispatchRecorder, store: LedgerStore, ids: [UInt64]) {
      let (dispatcher, recorder) = makeRecorded(
        DispatchRecorder(limit: limit, byteLimit: byteLimit))
      let store = dispatcher.registerLedger()
      var ids: [UInt64] = []
      while ids.count < count, recorder.log.droppedCount == 0 {
        ids.append(number(dispatcher.dispatch(Book(customer: "a", amount: 1), mode: .sync)))
      }
      return (dispatcher, recorder, store, ids)
    }
    let full = fill(atMost: fill(atMost: .max).ids.count - 1)
    let last = full.store.model
    for _ in 0..<2 {
      try await full.recorder.travel(to: full.ids[0])
      #expect(full.store.model.total == 1)
      for _ in 0..<4 { full.store.updateModel { $0.total = 77 } }
      try await full.recorder.travel(to: full.ids[1])
      for _ in 0..<4 { full.store.updateModel { $0.total = 77 } }
      try await full.recorder.resume()
      #expect(full.store.model == last)
    }
    withExtendedLifetime(full.dispatcher) {}
  }

  @Test(arguments: [true, false])
  func aDispatchAfterATravelIsReachedAlsoIfItCommitsNothing(keepsState: Bool) async throws {
    dispatcher.addStage()
    let first = book(1)
    let last = book(2)
    try await recorder.travel(to: number(first))
    stores[0].updateModel { $0.total = 77 }
    try await recorder.resume(keepingState: keepsState)
    if keepsState {
      let error = await #expect(throws: TravelError.self) {
        try await recorder.travel(to: number(last))
      }
      #expect(error?.code == .tooFarBack)
    }
    let states = stores.map(\.model)
    let none = dispatcher.dispatch(action: Script.runs { _ in })
    await none.ended()
    _ = book(4)
    try await recorder.travel(to: number(none))
    #expect(stores.map(\.model) == states)
    try await recorder.resume()
    #expect(stores[1].model.total == states[1].total + 4)
  }

  @Test func aFailedTravelOfAnotherRecorderDoesNotEndThePause() async throws {
    let (_, other) = makeRecorded(by: dispatcher)
    let first = book(1)
    _ = book(2)
    try await recorder.travel(to: number(first))
    for id in [1 << 40, number(first)] {
      await #expect(throws: TravelError.self) { try await other.travel(to: id) }
    }
    #expect(await book(3).result.dispatchError?.code == .dispatcherPaused)
    try await recorder.resume()
    #expect(stores[0].model.total == 3)
  }

  @Test func aHandlerThatTravelsGetsAnErrorAtOnce() async throws {
    let (recorder, codes) = (recorder, Recorder<TravelError.Code>())
    dispatcher.addStage()
    let id = number(book(1))
    let travels = Script.suspends { _ in
      do { try await recorder.travel(to: id) } catch let error as TravelError {
        codes.record(error.code)
      }
    }
    await dispatcher.send(travels)
    await dispatcher.dispatch(action: travels, mode: .serial).ended()
    #expect(codes.all == [.wouldDeadlock, .wouldDeadlock])
    #expect(await book(1).result.isSuccess)
  }

  @Test(arguments: [true, false])
  func aBlockOfAnotherDispatcherResumesAlsoOnceItIsCancelledOrTimedOut(
    isCancelled: Bool
  ) async throws {
    let (recorder, clock) = (recorder, VirtualClock())
    let admin = Dispatcher(name: "admin", clock: clock)
    let (travelled, goOn, ends) = (Latch(), Latch(), Recorder<String>())
    let first = number(book(1))
    _ = book(2)
    admin.addStage()
    let looks = Script.suspends { _ in
      do {
        try await recorder.travel(to: first)
        travelled.open()
        await goOn.opened()
        try await recorder.resume()
        ends.record("resumed")
      } catch {
        travelled.open()
        ends.record("\(error)")
      }
    }
    let look = admin.dispatch(action: looks, options: .timeout(.seconds(5)))
    await travelled.opened()
    if isCancelled { look.cancel() } else { await clock.pass(.seconds(6)) }
    goOn.open()
    #expect(await ends.first(1) == ["resumed"])
    #expect(stores.map(\.model.total) == [3, 3])
    #expect(await book(4).result.isSuccess)
    await look.ended()
  }

  @Test func aRecorderThatIsReleasedOnATravelEndsThePause() async throws {
    let dispatcher = Dispatcher()
    let store = dispatcher.registerLedger()
    var recorder: DispatchRecorder? = DispatchRecorder()
    dispatcher.register(middleware: recorder!)
    let first = dispatcher.dispatch(Book(customer: "a", amount: 1), mode: .sync)
    try await recorder!.travel(to: first.dispatchID.number)
    dispatcher.unregister(middleware: recorder!)
    recorder = nil
    #expect(await store.send(Book(customer: "a", amount: 1)).result.isSuccess)
  }

  @Test func aStoreOfAnotherDispatcherIsNotSet() async throws {
    let first = book(1)
    _ = book(2)
    dispatcher.unregister(store: stores[1])
    let other = Dispatcher()
    other.register(store: stores[1])
    try await recorder.travel(to: number(first))
    await other.send(Book(customer: "x", amount: 100))
    try await recorder.resume()
    #expect(stores.map(\.model.total) == [3, 103])
  }

  @Test(arguments: [false, true])
  func aStoreThatATravelHasNotSetKeepsItsChanges(isElsewhere: Bool) async throws {
    let ids = [1, 2, 4].map { number(book($0)) }
    let other = Dispatcher()
    dispatcher.unregister(store: stores[1])
    if isElsewhere { other.register(store: stores[1]) }
    try await recorder.travel(to: ids[1])
    try await recorder.resume(keepingState: true)
    #expect(stores.map(\.model.total) == [3, 7])
    #expect(recorder.state(of: stores[1], at: 2)?.total == 3)
    if isElsewhere { other.unregister(store: stores[1]) }
    dispatcher.register(store: stores[1])
    try await recorder.travel(to: ids[0])
    #expect(stores.map(\.model.total) == [1, 1])
    try await recorder.resume()
    #expect(stores.map(\.model.total) == [3, 7])
  }

  @Test(arguments: [false, true], [false, true])
  func aStoreThatComesOnATravelKeepsItsChanges(
    isElsewhere: Bool, travelsAgain: Bool
  ) async throws {
    let ids = [1, 2].map { number(book($0)) }
    let other = Dispatcher()
    dispatcher.unregister(store: stores[1])
    if isElsewhere { other.register(store: stores[1]) }
    try await recorder.travel(to: ids[0])
    if isElsewhere {
      await other.send(Book(customer: "x", amount: 100))
      other.unregister(store: stores[1])
    } else {
      stores[1].updateModel { $0.total += 100 }
    }
    dispatcher.register(store: stores[1])
    if travelsAgain { try await recorder.travel(to: ids[1]) }
    try await recorder.resume()
    #expect(stores.map(\.model.total) == [3, 103])
    #expect(await book(4).result.isSuccess)
    #expect(stores.map(\.model.total) == [7, 107])
  }

  @Test func aStoreThatDoesNotComeBackFromATravelIsNotSetToWhatItHasLost() async throws {
    let ids = [1, 2].map { number(book($0)) }
    try await recorder.travel(to: ids[0])
    let other = Dispatcher()
    dispatcher.unregister(store: stores[1])
    other.register(store: stores[1])
    let error = await #expect(throws: TravelError.self) { try await recorder.resume() }
    #expect(error?.code == .storesNotSet && stores.map(\.model.total) == [3, 1])
    #expect(recorder.state(of: stores[1], at: 2) == nil)
    #expect(recorder.state(of: stores[1], at: 1)?.total == 1)
    other.unregister(store: stores[1])
    dispatcher.register(store: stores[1])
    _ = book(4)
    let far = await #expect(throws: TravelError.self) { try await recorder.travel(to: ids[1]) }
    #expect(far?.code == .tooFarBack)
    try await recorder.travel(to: ids[0])
    #expect(stores.map(\.model.total) == [1, 1])
    try await recorder.resume()
    #expect(stores.map(\.model.total) == [7, 5])
  }

  /// The store that is not set commits so often, between two stores that are, that the recorder reaches its limit.
  @Test func aTravelSetsAllStoresWhateverAnotherOneCommitsMeanwhile() async throws {
    let (dispatcher, recorder) = makeRecorded(DispatchRecorder(limit: 8))
    let gated = Store(identifier: "gated", model: Gated()) {
      On(Book.self) { gated, book in gated.total += book.amount }
    }
    dispatcher.register(store: gated.undoesInPlace(\.named))
    let (ledger, away) = (dispatcher.registerLedger(), dispatcher.registerLedger("away"))
    let first = dispatcher.dispatch(Book(customer: "a", amount: 1), mode: .sync)
    dispatcher.dispatch(Book(customer: "a", amount: 2), mode: .sync)
    dispatcher.unregister(store: away)
    whenSetToOne.withLock {
      $0 = {
        let hasCommitted = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
          for _ in 0..<20 { away.updateModel { $0.total += 1 } }
          hasCommitted.signal()
        }
        hasCommitted.wait()
      }
    }
    try await recorder.travel(to: number(first))
    #expect(away.model.total == 23 && gated.model.total == 1 && ledger.model.total == 1)
    try await recorder.resume(keepingState: true)
  }

  /// With default options, which limit the time of the program's dispatches alone.
  @Test func aTravelWhoseStatesAreSavedLateHasAWayBack() async throws {
    let (database, clock, recorder) = (MemoryDatabase(), VirtualClock(), DispatchRecorder())
    let dispatcher = Dispatcher(name: "bank", defaults: .timeout(.seconds(5)), clock: clock)
    try await database.open(for: dispatcher)
    dispatcher.register(middleware: recorder)
    let wallet = try await dispatcher.register(store: .wallet(), persisted: .elements(\.all))
    let first = dispatcher.dispatch(Deposit(account: "a", amount: 1))
    await first.ended()
    await dispatcher.send(Deposit(account: "a", amount: 2))
    let (id, seen) = (number(first), Recorder<UInt64>())
    let token = wallet.observe(.model) { seen.record($0.version) }
    database.hold()
    let travel = Task { try await recorder.travel(to: id) }
    _ = await seen.first(1)
    clock.advance(by: .seconds(6))
    database.release()
    try await travel.value
    #expect(recorder.isTravelling && wallet.model.all["a"] == 1)
    try await recorder.resume()
    #expect(!recorder.isTravelling && wallet.model.all["a"] == 3)
    token.cancel()
  }

  @Test func aStoreThatIsUnregisteredOnATravelComesBackWithTheOthers() async throws {
    let (first, second) = (book(1), book(2))
    _ = book(4)
    try await recorder.travel(to: number(first))
    dispatcher.unregister(store: stores[1])
    try await recorder.travel(to: number(second))
    #expect(stores.map(\.model.total) == [3, 3])
    stores[1].updateModel { $0.total = 77 }
    try await recorder.resume()
    #expect(stores.map(\.model.total) == [7, 7])
    #expect(await book(8).result.isSuccess && stores[0].model.total == 15)
  }

  @Test func aResumeNamesTheStoresThatAreGoneAndSetsTheOthers() async throws {
    weak var gone: LedgerStore?
    gone = dispatcher.registerLedger("gone")
    let id = number(book(1))
    _ = book(2)
    try await recorder.travel(to: id)
    dispatcher.unregister(storeIdentifier: "gone")
    while gone != nil { await Task.yield() }
    let error = await #expect(throws: TravelError.self) { try await recorder.resume() }
    #expect(error?.code == .storesNotSet)
    #expect((error?.cause as? DispatchError)?.storeIdentifiers == ["gone"])
    #expect(stores.map(\.model.total) == [3, 3] && !recorder.isTravelling)
    #expect(await book(4).result.isSuccess)
    try await recorder.resume()
  }

  @Test(arguments: [Dispatcher.Mode.async, .serial, .serial(lane: "named"), .mainThread])
  func aTravelToADispatchThatHasWaitedForSavingShowsNoLaterOne(
    mode: Dispatcher.Mode
  ) async throws {
    let stage = try await PersistenceStage()
    let recorder = DispatchRecorder()
    stage.dispatcher.register(middleware: recorder)
    let committed = [Latch(), Latch(), Latch()]
    let token = stage.wallet.observe(.model) { change in
      if let balance = change.value.all["a"] { committed[balance - 1].open() }
    }
    stage.database.hold()
    var handles: [DispatchHandle] = []
    for latch in committed {
      let handle = stage.dispatcher.dispatch(Deposit(account: "a", amount: 1), mode: mode) { _ in
        // The first one may block until its commit is saved.
        for _ in 0..<2 {
          stage.dispatcher.dispatch(Deposit(account: "b", amount: 1), mode: .sync)
        }
      }
      handles.append(handle)
      await latch.opened()
    }
    token.cancel()
    stage.database.release()
    for handle in handles { await handle.ended() }
    for (index, handle) in handles.enumerated() {
      try await recorder.travel(to: number(handle))
      #expect(stage.wallet.model.all["a"] == index + 1)
    }
    try await recorder.resume()
    #expect(stage.wallet.model.all["a"] == 3)
  }

  @Test func aDispatcherThatIsClosedMeanwhileStaysClosed() async throws {
    let first = book(1)
    try await recorder.travel(to: number(first))
    dispatcher.close()
    try await recorder.resume()
    #expect(await book(2).result.dispatchError?.code == .dispatcherClosed)
  }
}
