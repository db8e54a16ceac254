import DispatchStore
import Testing

/// What a store's streams deliver, to one consumer.
@Suite(.timeLimit(.minutes(5)))
struct StreamTests {
  private let dispatcher = Dispatcher(name: "streams")
  private let store: CounterStore

  init() {
    store = dispatcher.register(store: .counter("counter"))
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func changesHaveVersionActionTransactionOldAndNew(mode: Dispatcher.Mode) async {
    var changes = store.stream(.part(\.self), buffering: .unbounded).makeAsyncIterator()
    var transactions: [DispatchID] = []
    for amount in 1...3 {
      transactions.append(await store.dispatch(.add(amount), mode: mode).result.dispatchID)
    }
    for (index, new) in [1, 3, 6].enumerated() {
      let change = await changes.next()
      #expect(change?.old?.count == new - index - 1)
      #expect(change?.value.count == new)
      #expect(change?.version == UInt64(index + 1))
      #expect(change?.action == .add(index + 1))
      #expect(change?.dispatchID == transactions[index])
    }
  }

  @Test func aChangeOutsideADispatchHasNoActionAndNoTransaction() async {
    var changes = store.stream(.part(\.count), buffering: .unbounded).makeAsyncIterator()
    store.updateModel { $0.count = 7 }
    store.inject(model: Counter(count: 8), action: .add(1))
    let (first, second) = (await changes.next(), await changes.next())
    #expect(first?.old == 0 && first?.value == 7 && first?.commits.map(\.version) == [1])
    #expect(first?.action == nil && first?.dispatchID == nil)
    #expect(second?.old == 7 && second?.value == 8 && second?.version == 2)
    #expect(second?.action == .add(1) && second?.dispatchID == nil)
  }

  @Test func aLateSubscriberGetsThePresentStateFirstAndNoOldAction() async {
    store.dispatch(.add(5), mode: .sync)
    var models = store.stream(.model, initial: true).map(\.value).makeAsyncIterator()
    var values = store.stream(.part(\.count), initial: true).map(\.value).makeAsyncIterator()
    var changes = store.stream(.part(\.self), initial: true, buffering: .unbounded)
      .makeAsyncIterator()
    var later = store.stream(.part(\.self), buffering: .unbounded).makeAsyncIterator()
    #expect(await models.next()?.count == 5)
    #expect(await values.next() == 5)
    let present = await changes.next()
    #expect(
      present?.old == nil && present?.value.count == 5 && present?.commits.isEmpty == true
        && present?.version == 1)
    #expect(present?.action == nil && present?.dispatchID == nil)
    store.dispatch(.add(1), mode: .sync)
    #expect(await changes.next()?.action == .add(1))
    #expect(await later.next()?.old?.count == 5)
  }

  @Test func theFirstOfThePresentStateMayBeThatOfLaterCommits() async {
    struct Shelf: Equatable, Sendable { var all: [Int: Int] = [1: 0] }
    let dispatcher = Dispatcher()
    let store = dispatcher.register(
      store: Store(identifier: "shelf", model: Shelf()) {
        On(withoutReply: Ping.self) { shelf, _ in shelf.all[1, default: 0] += 1 }
      })
    let selector = StateSelector.combine(StateSelector(\Shelf.all)) { $0[1] }
    var models = store.stream(.model, initial: true).makeAsyncIterator()
    var parts = store.stream(.part(\.all), initial: true).makeAsyncIterator()
    var selected = store.stream(.select(selector), initial: true).makeAsyncIterator()
    var elements = store.stream(.element(\.all, 1), initial: true).makeAsyncIterator()
    dispatcher.dispatch(Ping(), mode: .sync)
    // Equal to the state at the subscription, which the consumer has not got.
    store.updateModel { $0.all[1] = 0 }
    let (model, part) = (await models.next(), await parts.next())
    #expect(model?.value == Shelf() && part?.value == [1: 0] && part?.old == nil)
    let (value, element) = (await selected.next(), await elements.next())
    #expect(value?.value == 0 && value?.old == nil && element?.value == 0 && element?.old == nil)
    #expect([model?.version, part?.version, value?.version, element?.version] == [2, 2, 2, 2])
    #expect([model?.commits.count, part?.commits.count] == [0, 0])
    #expect([value?.commits.count, element?.commits.count] == [0, 0])
    dispatcher.dispatch(Ping(), mode: .sync)
    let (nextPart, nextElement) = (await parts.next(), await elements.next())
    #expect(nextPart?.old == [1: 0] && nextPart?.commits.map(\.version) == [3])
    #expect(nextElement?.old == 0 && nextElement?.value == 1)
  }

  @Test(arguments: [StreamBuffering.newest(1), .newest(9), .unbounded])
  func withoutInitialTheNextCommitComesFirst(policy: StreamBuffering) async {
    var models = store.stream(.model, buffering: policy).map(\.value).makeAsyncIterator()
    var values = store.stream(.select(StateSelector { $0.count }), buffering: policy).map(\.value)
      .makeAsyncIterator()
    store.updateModel { $0.notes = ["as many as before"] }
    store.updateModel { $0.count = 1 }
    if policy != .newest(1) { #expect(await models.next()?.count == 0) }
    #expect(await models.next()?.count == 1)
    #expect(await values.next() == 1, "The first one that differs.")
  }

  @Test func aModelIsThatOfTheTimeWhenItIsTaken() async {
    var models = store.stream(.model, initial: true).map(\.value).makeAsyncIterator()
    store.updateModel { $0.count = 1 }
    store.updateModel { $0.count = 2 }
    #expect(await models.next()?.count == 2, "Those of the time between are not delivered.")
    store.updateModel { $0.count = 3 }
    #expect(await models.next()?.count == 3)
  }

  @Test func keptModelsAreThoseOfTheirCommits() async {
    var newest = store.stream(.model, initial: true, buffering: .newest(2)).map(\.value)
      .makeAsyncIterator()
    var oldest = store.stream(.model, initial: true, buffering: .oldest(2)).map(\.value)
      .makeAsyncIterator()
    var all = store.stream(.model, initial: true, buffering: .unbounded).map(\.value)
      .makeAsyncIterator()
    for count in 1...5 { store.updateModel { $0.count = count } }
    for count in [4, 5] { #expect(await newest.next()?.count == count) }
    for count in [0, 1] { #expect(await oldest.next()?.count == count) }
    for count in 0...5 { #expect(await all.next()?.count == count) }
  }

  @Test func anEqualValueIsNotDeliveredAgain() async {
    var values = store.stream(.part(\.count), initial: true, buffering: .unbounded).map(\.value)
      .makeAsyncIterator()
    var changes = store.stream(.part(\.count), buffering: .unbounded).makeAsyncIterator()
    var each = store.stream(
      .select(StateSelector { Box(count: $0.count) }), initial: true, buffering: .unbounded
    ).map(\.value)
      .makeAsyncIterator()
    for count in [0, 1, 1, 2, 2, 0] { store.updateModel { $0.count = count } }
    for count in [0, 1, 2, 0] { #expect(await values.next() == count) }
    for version: UInt64 in [2, 4, 6] { #expect(await changes.next()?.version == version) }
    for count in [0, 0, 1, 1, 2, 2, 0] { #expect(await each.next()?.count == count) }
  }

  @Test func anEqualValueIsNotDeliveredAgainWhereThoseBetweenWereDropped() async {
    var newest = store.stream(.part(\.count), initial: true).map(\.value).makeAsyncIterator()
    var oldest = store.stream(.part(\.count), initial: true, buffering: .oldest(1)).map(\.value)
      .makeAsyncIterator()
    #expect(await newest.next() == 0)
    for count in [1, 0] { store.updateModel { $0.count = count } }
    for count in [3] { store.updateModel { $0.count = count } }
    #expect(await newest.next() == 3)
    #expect(await oldest.next() == 0)
    store.updateModel { $0.notes = ["3 was not kept, and comes now"] }
    #expect(await oldest.next() == 3)
  }

  @Test func commitsOfWhichObserversAreNotNotifiedAreNoChanges() async {
    let silent = dispatcher.register(
      store: CounterStore(
        identifier: "silent",
        reducer: ClosureReducer(
          notifies: { $0 != .add(1) },
          answer: { action, store in
            ActionOperation(action: action, store: store) { _, store in
              if case .add(let amount) = action { store.updateModel { $0.count += amount } }
            }
          })))
    var changes = silent.stream(.part(\.count), buffering: .unbounded).makeAsyncIterator()
    for amount in [1, 2] { silent.dispatch(.add(amount), mode: .sync) }
    #expect(await changes.next()?.version == 2)
  }

  @Test func aReductionThatChangesNothingIsNoChange() async {
    let store = Store<Int, Ping>(identifier: "idle", model: 1, reducer: IdleReducer())
    dispatcher.register(store: store)
    var models = store.stream(.model, buffering: .unbounded).map(\.value).makeAsyncIterator()
    store.dispatch(Ping(name: "nothing"), mode: .sync)
    store.updateModel { $0 = 2 }
    #expect(await models.next() == 2)
  }

  @Test func theFirstIteratorTakesTheStreamsSubscriptionAndOthersBeginTheirOwn() async {
    let changes = store.stream(.part(\.count), buffering: .unbounded)
    store.updateModel { $0.count = 1 }
    var first = changes.makeAsyncIterator()
    var second = changes.makeAsyncIterator()
    store.updateModel { $0.count = 2 }
    #expect(await second.next()?.value == 2)
    #expect(await first.next()?.value == 1)
    #expect(await first.next()?.value == 2)
  }

  @Test func concurrentConsumersEachGetEverything() async {
    let changes = store.stream(.part(\.count), initial: true, buffering: .unbounded)
    let begun = EventCount(of: 8)
    async let sums = withTaskGroup(of: Int.self) { group in
      for _ in 0..<8 {
        group.addTask {
          var sum = 0
          for await change in changes {
            if change.version == 0 { begun.add() }
            sum += change.value
            if change.version == 100 { break }
          }
          return sum
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    await begun.full()
    for count in 1...100 { await store.send(.add(1), mode: count % 2 == 0 ? .async : .serial) }
    #expect(await sums == Array(repeating: 5_050, count: 8))
  }

  @Test func theOperatorsOfSequencesApply() async {
    let evens = store.stream(.part(\.count), initial: true, buffering: .unbounded).map(\.value)
      .filter { $0 % 2 == 0 }
      .map { "\($0)" }.prefix(3)
    let collected = Task {
      var all: [String] = []
      for await word in evens { all.append(word) }
      return all
    }
    var iterator = store.stream(.part(\.count), buffering: .unbounded).compactMap(\.action)
      .makeAsyncIterator()
    for _ in 1...4 { await store.send(.add(1), mode: .serial) }
    #expect(await iterator.next() == .add(1))
    while store.model.count < 1_000 {
      store.updateModel { $0.count += 2 }
      await Task.yield()
    }
    #expect(await collected.value.count == 3)
  }

  @Test func streamsOfSeveralStoresAreConsumedTogether() async {
    let other = dispatcher.register(store: .counter("other"))
    let sources: [any AsyncSequence<Int, Never> & Sendable] = [
      store.stream(.part(\.count), initial: true).map(\.value),
      other.stream(.part(\.count), initial: true).map(\.value),
    ]
    let merged = AsyncStream<Int> { continuation in
      for source in sources {
        Task { for await count in source { continuation.yield(count) } }
      }
    }
    store.updateModel { $0.count = 10 }
    other.updateModel { $0.count = 20 }
    var seen: Set<Int> = []
    for await count in merged {
      seen.insert(count)
      if seen.isSuperset(of: [10, 20]) { break }
    }
    #expect(seen.isSubset(of: [0, 10, 20]))
  }

  @Test func anActorIteratesInItsIsolation() async {
    let sum = Summing()
    let total = Task {
      await sum.count(store.stream(.part(\.count), initial: true, buffering: .unbounded), to: 3)
    }
    for _ in 1...3 {
      await sum.next()
      store.updateModel { $0.count += 1 }
    }
    #expect(await total.value == 6)
  }

  @Test func aBoundThatKeepsNothingStopsTheProgram() async {
    await #expect(processExitsWith: .failure) {
      _ = CounterStore.counter().stream(.model, initial: true, buffering: .newest(0)).map(\.value)
    }
    await #expect(processExitsWith: .failure) {
      _ = CounterStore.counter().stream(.model, initial: true, buffering: .oldest(0)).map(\.value)
    }
    await #expect(processExitsWith: .failure) {
      _ = CounterStore.counter().stream(.model, initial: true, buffering: .suspending(-1)).map(
        \.value)
    }
  }
}

private struct Box: Sendable {
  let count: Int
}

private final class IdleReducer: Reducer<Int, Ping> {
  override func reduce(into model: inout Int, action: Ping) { unchanged() }
}

/// Adds up a stream's values; between two of them its caller may go on.
private actor Summing {
  private var sum = 0
  private let taken = Recorder<Int>()
  private var awaited = 0

  func count(_ values: StoreStream<Change<Int, CounterAction>>, to last: Int) async -> Int {
    for await change in values {
      let value = change.value
      sum += value
      taken.record(value)
      if value == last { break }
    }
    return sum
  }

  func next() async {
    awaited += 1
    _ = await taken.first(awaited)
  }
}
