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
    var changes = store.changes().makeAsyncIterator()
    var transactions: [DispatchID] = []
    for amount in 1...3 {
      transactions.append(await store.dispatch(.add(amount), mode: mode).result.dispatchID)
    }
    for (index, new) in [1, 3, 6].enumerated() {
      let change = await changes.next()
      #expect(change?.old.count == new - index - 1)
      #expect(change?.new.count == new)
      #expect(change?.version == UInt64(index + 1))
      #expect(change?.action == .add(index + 1))
      #expect(change?.dispatchID == transactions[index])
    }
  }

  @Test func aChangeOutsideADispatchHasNoActionAndNoTransaction() async {
    var changes = store.changes(of: \.count).makeAsyncIterator()
    store.updateModel { $0.count = 7 }
    store.inject(model: Counter(count: 8), action: .add(1))
    let (first, second) = (await changes.next(), await changes.next())
    #expect(first == ValueChange(old: 0, new: 7, version: 1, action: nil, dispatchID: nil))
    #expect(second == ValueChange(old: 7, new: 8, version: 2, action: .add(1), dispatchID: nil))
  }

  @Test func aLateSubscriberGetsThePresentStateFirstAndNoOldAction() async {
    store.dispatch(.add(5), mode: .sync)
    var models = store.models().makeAsyncIterator()
    var values = store.values(of: \.count).makeAsyncIterator()
    var changes = store.changes(initial: true).makeAsyncIterator()
    var later = store.changes().makeAsyncIterator()
    #expect(await models.next()?.count == 5)
    #expect(await values.next() == 5)
    let present = await changes.next()
    #expect(present?.old.count == 5 && present?.new.count == 5 && present?.version == 1)
    #expect(present?.action == nil && present?.dispatchID == nil)
    store.dispatch(.add(1), mode: .sync)
    #expect(await changes.next()?.action == .add(1))
    #expect(await later.next()?.old.count == 5)
  }

  @Test(arguments: [StreamBufferingPolicy.bufferingNewest(1), .bufferingNewest(9), .unbounded])
  func withoutInitialTheNextCommitComesFirst(policy: StreamBufferingPolicy) async {
    var models = store.models(buffering: policy, initial: false).makeAsyncIterator()
    var values = store.values(of: { $0.count }, buffering: policy, initial: false)
      .makeAsyncIterator()
    store.updateModel { $0.notes = ["as many as before"] }
    store.updateModel { $0.count = 1 }
    if policy != .bufferingNewest(1) { #expect(await models.next()?.count == 0) }
    #expect(await models.next()?.count == 1)
    #expect(await values.next() == 1, "The first one that differs.")
  }

  @Test func aModelIsThatOfTheTimeWhenItIsTaken() async {
    var models = store.models().makeAsyncIterator()
    store.updateModel { $0.count = 1 }
    store.updateModel { $0.count = 2 }
    #expect(await models.next()?.count == 2, "Those of the time between are not delivered.")
    store.updateModel { $0.count = 3 }
    #expect(await models.next()?.count == 3)
  }

  @Test func keptModelsAreThoseOfTheirCommits() async {
    var newest = store.models(buffering: .bufferingNewest(2)).makeAsyncIterator()
    var oldest = store.models(buffering: .bufferingOldest(2)).makeAsyncIterator()
    var all = store.models(buffering: .unbounded).makeAsyncIterator()
    for count in 1...5 { store.updateModel { $0.count = count } }
    for count in [4, 5] { #expect(await newest.next()?.count == count) }
    for count in [0, 1] { #expect(await oldest.next()?.count == count) }
    for count in 0...5 { #expect(await all.next()?.count == count) }
  }

  @Test func anEqualValueIsNotDeliveredAgain() async {
    var values = store.values(of: \.count, buffering: .unbounded).makeAsyncIterator()
    var changes = store.changes(of: \.count).makeAsyncIterator()
    var each = store.values(of: { Box(count: $0.count) }, buffering: .unbounded)
      .makeAsyncIterator()
    for count in [0, 1, 1, 2, 2, 0] { store.updateModel { $0.count = count } }
    for count in [0, 1, 2, 0] { #expect(await values.next() == count) }
    for version: UInt64 in [2, 4, 6] { #expect(await changes.next()?.version == version) }
    for count in [0, 0, 1, 1, 2, 2, 0] { #expect(await each.next()?.count == count) }
  }

  @Test func anEqualValueIsNotDeliveredAgainWhereThoseBetweenWereDropped() async {
    var newest = store.values(of: \.count).makeAsyncIterator()
    var oldest = store.values(of: \.count, buffering: .bufferingOldest(1)).makeAsyncIterator()
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
    var changes = silent.changes(of: \.count).makeAsyncIterator()
    for amount in [1, 2] { silent.dispatch(.add(amount), mode: .sync) }
    #expect(await changes.next()?.version == 2)
  }

  @Test func aReductionThatChangesNothingIsNoChange() async {
    let store = Store<Int, Ping>(identifier: "idle", model: 1, reducer: IdleReducer())
    dispatcher.register(store: store)
    var models = store.models(buffering: .unbounded, initial: false).makeAsyncIterator()
    store.dispatch(Ping(name: "nothing"), mode: .sync)
    store.updateModel { $0 = 2 }
    #expect(await models.next() == 2)
  }

  @Test func eachIteratorIsASubscriptionOfItsOwn() async {
    let changes = store.changes(of: \.count)
    var first = changes.makeAsyncIterator()
    store.updateModel { $0.count = 1 }
    var second = changes.makeAsyncIterator()
    store.updateModel { $0.count = 2 }
    #expect(await second.next()?.new == 2)
    #expect(await first.next()?.new == 1)
    #expect(await first.next()?.new == 2)
  }

  @Test func concurrentConsumersEachGetEverything() async {
    let changes = store.changes(of: \.count, initial: true)
    let begun = EventCount(of: 8)
    async let sums = withTaskGroup(of: Int.self) { group in
      for _ in 0..<8 {
        group.addTask {
          var sum = 0
          for await change in changes {
            if change.version == 0 { begun.add() }
            sum += change.new
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
    let evens = store.values(of: \.count, buffering: .unbounded).filter { $0 % 2 == 0 }
      .map { "\($0)" }.prefix(3)
    let collected = Task {
      var all: [String] = []
      for await word in evens { all.append(word) }
      return all
    }
    var iterator = store.changes(of: \.count).compactMap(\.action).makeAsyncIterator()
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
      store.values(of: \.count), other.values(of: \.count),
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
    let total = Task { await sum.count(store.values(of: \.count, buffering: .unbounded), to: 3) }
    for _ in 1...3 {
      await sum.next()
      store.updateModel { $0.count += 1 }
    }
    #expect(await total.value == 6)
  }

  @Test func aBoundThatKeepsNothingStopsTheProgram() async {
    await #expect(processExitsWith: .failure) {
      _ = CounterStore.counter().models(buffering: .bufferingNewest(0))
    }
    await #expect(processExitsWith: .failure) {
      _ = CounterStore.counter().models(buffering: .bufferingOldest(0))
    }
    await #expect(processExitsWith: .failure) {
      _ = CounterStore.counter().models(buffering: .suspending(-1))
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

  func count(_ values: StoreStream<Int>, to last: Int) async -> Int {
    for await value in values {
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
