import DispatchStore
import Foundation
import Testing

private struct Held: ModelType {
  var signal: Mortal?
}

/// What observers on queues get, and what that costs a commit.
@Suite(.timeLimit(.minutes(10)))
struct QueueObserverTests {
  private let store = Store<Table, TableAction>(identifier: "table", reducer: TableReducer())
  private let dispatcher = Dispatcher()
  private let queue = DispatchQueue(label: "held")

  private var place: UInt { store.withModel { $0.place } }

  /// Keeps the queue from calling observers, until the latch is opened.
  private func holdQueue() -> Latch {
    let proceed = Latch()
    queue.async { proceed.wait() }
    return proceed
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func aCommitCopiesNothingForThem(mode: Dispatcher.Mode) async {
    let (dispatcher, store) = (dispatcher, dispatcher.register(store: store))
    let (proceed, ends) = (holdQueue(), Recorder<String>())
    let tokens = [
      store.observe(.model, initial: true, on: .queue(queue)) {
        if $0.version == 50 { ends.record("whole") }
      },
      store.observe(.part(\.rows[0]), on: .queue(queue)) {
        if $0.value == 50 { ends.record("part") }
      },
      store.observe(.part(\.rows[0])) { if $0.value == 50 { ends.record("inline") } },
    ]
    let place = place
    for _ in 0..<50 { _ = await dispatcher.dispatch(action: TableAction.add(1), mode: mode).result }
    #expect(self.place == place)
    proceed.open()
    #expect(await ends.first(3).sorted() == ["inline", "part", "whole"])
    #expect(self.place == place)
    withExtendedLifetime(tokens) {}
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func wholeModelsCoalesceAndEachCommitIsNamed(mode: Dispatcher.Mode) async {
    let (dispatcher, store) = (dispatcher, dispatcher.register(store: store))
    let received = Recorder<Change<Table, TableAction>>()
    let shown = Recorder<(Int, UInt64)>()
    let proceed = holdQueue()
    let token = store.observe(.model, on: .queue(queue)) { change in
      shown.record((change.value.rows[0], change.version))
      received.record(change)
    }
    var transactions: [DispatchID?] = []
    for amount in 1...5 {
      let handle = dispatcher.dispatch(action: TableAction.add(amount), mode: mode)
      _ = await handle.result
      transactions.append(handle.dispatchID)
    }
    store.updateModel { $0.rows[0] += 100 }
    proceed.open()
    let changes = await received.first(1)
    #expect(shown.all[0] == (115, 6))
    #expect(changes[0].commits.map(\.version) == [1, 2, 3, 4, 5, 6])
    #expect(changes[0].commits.map(\.action) == (1...5).map { .add($0) } + [nil])
    #expect(changes[0].commits.map(\.dispatchID) == transactions + [nil])
    store.updateModel { $0.rows[0] = 7 }
    #expect(await received.first(2)[1].commits.map(\.version) == [7])
    token.cancel()
  }

  @Test func thePresentModelComesFirstWithoutACommit() async {
    let received = Recorder<String>()
    store.updateModel { $0.rows[0] = 3 }
    let tokens = [
      store.observe(.model, initial: true, on: .queue(queue)) {
        received.record("whole \($0.commits.count) \($0.version) \($0.value.rows[0])")
      },
      store.observe(.part(\.rows[0]), initial: true, on: .queue(queue)) {
        received.record("part \($0.version) \($0.value)")
      },
    ]
    #expect(await received.first(2).sorted() == ["part 1 3", "whole 0 1 3"])
    withExtendedLifetime(tokens) {}
  }

  @Test func commitsWhileTheQueueIsBehindComeAfterThePresentModel() async {
    let (proceed, received) = (holdQueue(), Recorder<[UInt64]>())
    let token = store.observe(.model, initial: true, on: .queue(queue)) { change in
      received.record([change.version] + change.commits.map(\.version))
    }
    for number in 1...2 { store.updateModel { $0.rows[0] = number } }
    proceed.open()
    #expect(await received.first(2) == [[0], [2, 1, 2]])
    token.cancel()
  }

  /// The first call has the version of the subscription, so it needs no lock of the store.
  @Test func aCommitInProgressComesOnceAfterThePresentModel() async {
    let (store, proceed, received) = (store, holdQueue(), Recorder<[UInt64]>())
    let token = store.observe(.model, initial: true, on: .queue(queue)) { change in
      received.record([change.version] + change.commits.map(\.version))
    }
    await onOwnThread {
      store.updateModel {
        proceed.open()
        received.waitFor(1)
        $0.rows[0] = 1
      }
    }
    #expect(await received.first(2) == [[0], [1, 1]])
    token.cancel()
  }

  /// One copy at most, by the commit that finds the observer's snapshot; none where it reads in place.
  @Test(arguments: [false, true])
  func aCallCostsOneCopyAtMost(readsInPlace: Bool) async {
    let (store, entered, proceed) = (store, Recorder<Int>(), Latch())
    let token = store.observe(.model, on: .queue(queue)) { change in
      let snapshot = readsInPlace ? nil : change.value
      entered.record(store.withModel { $0.rows[0] })
      proceed.wait()
      withExtendedLifetime(snapshot) {}
    }
    let places = Recorder<UInt>()
    places.record(place)
    store.updateModel { $0.rows[0] = 1 }
    #expect(await entered.first(1) == [1])
    for row in 1...20 {
      store.updateModel { $0.rows[row] = 1 }
      places.record(place)
    }
    #expect(Set(places.all).count == (readsInPlace ? 1 : 2))
    token.cancel()
    proceed.open()
  }

  @Test func aProjectionIsThatOfItsCommit() async {
    let (proceed, received) = (holdQueue(), Recorder<Int>())
    let token = store.observe(.select(StateSelector { $0.rows[0] }), on: .queue(queue)) {
      received.record($0.value)
    }
    for number in 1...200 { store.updateModel { $0.rows[0] = number } }
    proceed.open()
    #expect(await received.first(200) == Array(1...200))
    token.cancel()
  }

  /// An inline observer that is held, and one on the queue.
  private func observe(
    holdingInline proceed: Latch, _ entered: Latch, andOnQueue received: Recorder<UInt64>
  ) -> [ObserverToken] {
    [
      store.observe(.model) { _ in
        entered.open()
        proceed.wait()
      },
      store.observe(.part(\.rows[0]), on: .queue(queue)) { received.record($0.version) },
    ]
  }

  @Test func theyWaitForNoInlineObserver() async {
    let (store, entered, proceed, received) = (store, Latch(), Latch(), Recorder<UInt64>())
    let tokens = observe(holdingInline: proceed, entered, andOnQueue: received)
    async let committed: Void = onOwnThread { store.updateModel { $0.rows[0] = 1 } }
    await entered.opened()
    #expect(await received.first(1) == [1])
    proceed.open()
    await committed
    withExtendedLifetime(tokens) {}
  }

  /// A thread that waits for the turn of an inline observer has scheduled them before.
  @Test(arguments: [false, true])
  func theyDoNotWaitForTheTurnOfInlineObserversEither(dispatchesInTheSection: Bool) async {
    let (store, entered, proceed, received) = (store, Latch(), Latch(), Recorder<UInt64>())
    let desk = dispatcher.addDesk()
    let tokens = observe(holdingInline: proceed, entered, andOnQueue: received)
    async let first: Void = onOwnThread { store.updateModel { $0.rows[0] = 1 } }
    await entered.opened()
    async let second: Void = onOwnThread {
      store.updateModel { model in
        model.rows[0] = 2
        if dispatchesInTheSection { _ = desk.dispatch(.adds("late")) }
      }
    }
    #expect(await received.first(2) == [1, 2])
    proceed.open()
    await first
    await second
    withExtendedLifetime(tokens) {}
  }

  @Test func theLastCommitsOfAStoreThatGoesAreDelivered() async {
    let (proceed, received) = (holdQueue(), Recorder<Int>())
    var token: ObserverToken?
    do {
      let store = Store<Table, TableAction>(identifier: "brief", reducer: TableReducer())
      token = store.observe(.model, on: .queue(queue)) { received.record($0.value.rows[0]) }
      store.updateModel { $0.rows[0] = 5 }
    }
    proceed.open()
    #expect(await received.first(1) == [5])
    token?.cancel()
  }

  /// It keeps the value that was read, and no store.
  @Test(.timeLimit(.minutes(1)))
  func aChangeWhoseValueWasReadKeepsNoStore() async {
    let (seen, released) = (Recorder<Change<Held, HandledAction>>(), Latch())
    var store: Store<Held, HandledAction>? = Store(identifier: "brief", model: Held()) {}
    let token = store!.observe(.model, on: .queue(queue)) { change in
      _ = change.value
      seen.record(change)
    }
    store!.updateModel { $0.signal = nil }
    let read = await seen.first(1)
    token.cancel()
    store!.updateModel { $0.signal = Mortal(released) }
    store = nil
    await released.opened()
    #expect(read[0].value.signal == nil)
  }

  /// The projection of each commit, in order, also where its delivery was left to the notifier.
  @Test func anInlineProjectionIsDeliveredWithItsOwnCommit() {
    let (store, received) = (store, Recorder<String>())
    let tokens = [
      store.observe(.part(\.rows[0])) { change in
        if change.value < 3 { store.updateModel { $0.rows[0] += 1 } }
      },
      store.observe(.part(\.rows[0])) { received.record("part \($0.version) \($0.value)") },
      store.observe(.model) { received.record("whole \($0.version) \($0.value.rows[0])") },
    ]
    store.updateModel { $0.rows[0] = 1 }
    #expect(
      received.all == [
        "part 1 1", "whole 1 1", "part 2 2", "whole 2 2", "part 3 3", "whole 3 3",
      ])
    withExtendedLifetime(tokens) {}
  }

  @Test func oneCancelledInsideAnExclusiveSectionIsReleasedAtItsEnd() {
    let released = Latch()
    let token = observeHolding(Mortal(released))
    store.updateModel { _ in token.cancel() }
    #expect(released.isOpen)
  }

  private func observeHolding(_ signal: Mortal) -> ObserverToken {
    store.observe(.part(\.rows[0]), on: .queue(queue)) { _ in withExtendedLifetime(signal) {} }
  }

  @Test(arguments: [false, true])
  func valuesThatAreKeptBehindAQueueGoWithTheToken(isCancelledInASection: Bool) {
    let (proceed, released) = (holdQueue(), Latch())
    let store = Store<Held, HandledAction>(identifier: "held", model: Held()) {}
    let token = store.observe(.part(\.signal), on: .queue(queue)) { _ in }
    store.updateModel { $0.signal = Mortal(released) }
    store.updateModel { $0.signal = nil }
    #expect(!released.isOpen)
    if isCancelledInASection { store.updateModel { _ in token.cancel() } } else { token.cancel() }
    #expect(released.isOpen)
    proceed.open()
  }

  @Test func aStoreThatIsKeptBehindAQueueGoesWithTheToken() {
    let (proceed, released) = (holdQueue(), Latch())
    var store: Store<Held, HandledAction>? = Store(identifier: "held", model: Held()) {}
    let token = store!.observe(.model, on: .queue(queue)) { _ in }
    store!.updateModel { $0.signal = Mortal(released) }
    store = nil
    #expect(!released.isOpen)
    token.cancel()
    #expect(released.isOpen)
    proceed.open()
  }

  @Test func aProjectionThatReadsAStoreStopsTheProgramAndNamesIt() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let (store, other) = (CounterStore.counter("seen"), CounterStore.counter("other"))
      let token = store.observe(.select(StateSelector { $0.count + other.model.count })) { _ in }
      store.updateModel { $0.count = 1 }
      token.cancel()
    }
    #expect(result.message.contains("\"other\"") && result.message.contains("\"seen\""))
  }
}
