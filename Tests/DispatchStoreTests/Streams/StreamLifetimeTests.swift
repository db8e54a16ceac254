import Foundation
import Testing

@testable import DispatchStore

private typealias Counts = AsyncMapSequence<StoreStream<Change<Int, CounterAction>>, Int>

/// How a subscription ends, and that nothing of it stays.
@Suite(.timeLimit(.minutes(5)))
struct StreamLifetimeTests {
  private let store = CounterStore.counter("counter")

  /// A stream of values that keeps an object for as long as there is a sequence, or a subscription.
  private func stream(
    until released: Latch, _ policy: StreamBuffering = .unbounded
  ) -> Counts {
    let signal = Mortal(released)
    return store.stream(
      .select(StateSelector { model in withExtendedLifetime(signal) { model.count } }),
      initial: true, buffering: policy
    ).map(\.value)
  }

  @Test func theStoreIsNotKeptAliveAndItsStreamsEnd() async {
    var store: CounterStore? = .counter("short")
    weak let departed = store
    var all = store!.stream(.part(\.count), buffering: .unbounded).makeAsyncIterator()
    var models = store!.stream(.model, initial: true).map(\.value).makeAsyncIterator()
    let sequence = store!.stream(.part(\.count), initial: true).map(\.value)
    store!.updateModel { $0.count = 1 }
    store!.updateModel { $0.count = 2 }
    store = nil
    #expect(departed == nil)
    #expect(await models.next()?.count == 2, "The last model can still be taken.")
    #expect(await models.next() == nil)
    #expect(await all.next()?.value == 1)
    #expect(await all.next()?.value == 2)
    #expect(await all.next() == nil)
    #expect(await all.next() == nil)
    var seen: [Int] = []
    for await count in sequence { seen.append(count) }
    #expect(seen == [2], "What was kept can be taken.")
    for await _ in sequence { Issue.record("The store has gone.") }
  }

  /// The order of a hash table differs between processes, and with it the steps of a simulation would.
  @Test func theStreamsOfAStoreEndInTheOrderInWhichTheyBegan() {
    let (streams, all) = (StoreStreams(), (0..<50).map { _ in StreamStorage(.newest(1)) })
    for stream in all { streams.add(stream) }
    for stream in all.prefix(20) { streams.remove(stream) }
    #expect(
      streams.all.map { ObjectIdentifier($0) } == all.dropFirst(20).map { ObjectIdentifier($0) })
  }

  @Test(arguments: [0, 1])
  func manyThatHaveEndedKeepNoPlacesInTheirStore(left: Int) {
    var streams = (0..<10_000).map { _ in store.stream(.part(\.count)) }
    streams.removeLast(streams.count - left)
    let places = store.storage.withLock { _ in
      store.storage.attachment(StoreStreams.self)?._withUnsafeGuaranteedRef {
        $0.state.withLock(\.streams.capacity)
      }
    }
    #expect(places.map { $0 <= 64 } == true)
    withExtendedLifetime(streams) {}
  }

  /// A model that was not taken keeps nothing but itself.
  @Test(.timeLimit(.minutes(1)))
  func streamsEndWithTheirStoreWhereAnotherHasNotTakenItsLastModel() async {
    var store: CounterStore? = .counter("short")
    var models = store!.stream(.model, initial: true).map(\.value).makeAsyncIterator()
    var coming = store!.stream(.model).map(\.value).makeAsyncIterator()
    var none = store!.stream(.model).map(\.value).makeAsyncIterator()
    var counts = store!.stream(.part(\.count), initial: true).map(\.value).makeAsyncIterator()
    #expect(await counts.next() == 0)
    store!.updateModel { $0.count = 1 }
    #expect(await none.next()?.count == 1)
    #expect(await counts.next() == 1)
    store = nil
    #expect(await counts.next() == nil)
    #expect(!Task.isCancelled)
    #expect(await none.next() == nil)
    #expect(await models.next()?.count == 1)
    #expect(await models.next() == nil)
    #expect(await coming.next()?.count == 1)
    #expect(await coming.next() == nil)
  }

  enum Keeper: CaseIterable { case unreadChange, hungQueue, group }

  @Test(.timeLimit(.minutes(1)), arguments: Keeper.allCases)
  func streamsEndWithTheirStoreAlsoIfItsModelIsKept(keeper: Keeper) async {
    var store: CounterStore? = .counter("short")
    let (queue, seen) = (
      DispatchQueue(label: "kept"), Recorder<Change<Counter, CounterAction>>()
    )
    if keeper == .hungQueue { queue.suspend() }
    let token = store!.observe(.model, on: .queue(queue)) { seen.record($0) }
    let group: StoreGroup<Counter>? = keeper == .group ? StoreGroup(store!) : nil
    var counts = store!.stream(.part(\.count)).map(\.value).makeAsyncIterator()
    var models = store!.stream(.model).map(\.value).makeAsyncIterator()
    let waiting = store!.stream(.part(\.notes))
    let consumer = Task { for await _ in waiting {} }
    store!.updateModel { $0.count = 1 }
    if keeper != .hungQueue { _ = await seen.first(1) }
    store = nil
    #expect(await counts.next() == 1)
    #expect(await counts.next() == nil)
    #expect(await models.next()?.count == 1)
    #expect(await models.next() == nil)
    await consumer.value
    if keeper == .hungQueue { queue.resume() }
    #expect(await seen.first(1)[0].value.count == 1)
    token.cancel()
    withExtendedLifetime(group) {}
  }

  /// The last model differs from the one that was taken by a commit that no observer is to see.
  @Test func aCommitOfWhichObserversAreNotNotifiedIsNoChangeWhereTheStoreGoes() async {
    let dispatcher = Dispatcher(name: "silent")
    var store: CounterStore? = dispatcher.register(
      store: CounterStore(
        identifier: "silent",
        reducer: ClosureReducer(
          notifies: { $0 != .add(2) },
          answer: { action, store in
            ActionOperation(action: action, store: store) { _, store in
              if case .add(let amount) = action { store.updateModel { $0.count += amount } }
            }
          })), ownership: .weak)
    weak let departed = store
    var models = store!.stream(.model, initial: true).map(\.value).makeAsyncIterator()
    store!.dispatch(.add(1), mode: .sync)
    #expect(await models.next()?.count == 1)
    store!.dispatch(.add(2), mode: .sync)
    store = nil
    #expect(departed == nil)
    #expect(await models.next() == nil)
  }

  @Test(arguments: [StreamBuffering.unbounded, .newest(1), .suspending(0)])
  func aConsumerThatWaitsIsResumedWhenTheStoreGoes(policy: StreamBuffering) async {
    var store: CounterStore? = .counter("short")
    let (models, seen) = (
      store!.stream(.model, initial: true, buffering: policy).map(\.value), Recorder<Int>()
    )
    let consumer = Task { for await model in models { seen.record(model.count) } }
    _ = await seen.first(1)
    store = nil
    await consumer.value
    #expect(seen.all == [0])
  }

  @Test func breakingOutOfTheLoopUnsubscribes() async {
    let released = Latch()
    func consume() async {
      for await count in stream(until: released) where count == 0 { break }
    }
    await consume()
    await released.opened()
    store.updateModel { $0.count = 1 }
  }

  @Test func anIteratorThatIsReleasedUnsubscribes() async {
    let released = Latch()
    func take() async {
      var iterator = stream(until: released).makeAsyncIterator()
      store.updateModel { $0.count = 1 }
      #expect(await iterator.next() == 0)
    }
    await take()
    await released.opened()
  }

  /// The next commit releases what was left then.
  @Test func anIteratorMayBeReleasedInAnExclusiveSection() async {
    let released = Latch()
    nonisolated(unsafe) var iterator: Counts.Iterator? = stream(
      until: released, .newest(1)
    ).makeAsyncIterator()
    #expect(await iterator?.next() == 0)
    store.updateModel { model in
      model.count = 1
      iterator = nil
    }
    store.updateModel { $0.count = 2 }
    await released.opened()
  }

  @Test func cancellingTheConsumerEndsTheIterationAtOnceAndUnsubscribes() async {
    let (released, seen) = (Latch(), Recorder<Int>())
    let consumer = Task { [stream = stream(until: released)] in
      for await count in stream { seen.record(count) }
    }
    _ = await seen.first(1)
    consumer.cancel()
    await consumer.value
    #expect(seen.all == [0])
  }

  @Test func aCancelledConsumerTakesNothingThatIsLeft() async {
    let (began, cancelled, seen) = (Latch(), Latch(), Recorder<Int>())
    let consumer = Task { [store] in
      for await count in store.stream(.part(\.count), initial: true, buffering: .unbounded).map(
        \.value)
      {
        seen.record(count)
        began.open()
        await cancelled.opened()
      }
      return Task.isCancelled
    }
    await began.opened()
    for _ in 1...10 { store.updateModel { $0.count += 1 } }
    consumer.cancel()
    cancelled.open()
    #expect(await consumer.value)
    #expect(seen.all == [0])
  }

  @Test func aTaskThatIsCancelledAlreadyGetsNothing() async {
    let consumer = Task { [store] in
      withUnsafeCurrentTask { $0?.cancel() }
      var count = 0
      for await _ in store.stream(.model, initial: true).map(\.value) { count += 1 }
      return count
    }
    #expect(await consumer.value == 0)
  }

  /// A consumer that keeps up has the values that the store computes, and not those that were read for it.
  @Test func whatWasReadForASelectorIsReleasedWhereItMayUseAStore() async {
    let (store, other) = (ProbeStore.probe("selected"), ProbeStore.probe("other"))
    // All but what the stream and the store have read of the last commit.
    let deaths = EventCount(of: 6)
    let boxes = StateSelector { (_: Int) in reader(other, deaths) }
    let count = StateSelector.combine(boxes, StateSelector(\Int.self)) { _, count in count }
    var counts = store.stream(.select(count), initial: true).map(\.value).makeAsyncIterator()
    #expect(await counts.next() == 0)
    for number in 1...3 {
      store.updateModel { $0 = number }
      #expect(await counts.next() == number)
    }
    await deaths.full()
  }

  /// What was kept is released too, and not under a lock: it may use the stream's store.
  @Test(arguments: [StreamBuffering.newest(2), .oldest(2)])
  func whatIsDroppedIsReleasedWhereItMayUseTheStore(policy: StreamBuffering) async {
    let dispatcher = Dispatcher(name: "drops")
    let store = dispatcher.register(
      store: Store<Int, Ping>(identifier: "drops", model: 0, reducer: ApplyingReducer { _, _ in }))
    let deaths = EventCount(of: 8)
    func consume() async {
      var iterator = store.stream(
        .select(StateSelector { _ in reader(store, deaths) }), initial: true, buffering: policy
      ).map(\.value).makeAsyncIterator()
      for _ in 1...7 { store.updateModel { $0 += 1 } }
      #expect(deaths.count >= 5, "Of 8, two are kept, and the one at the subscription.")
      _ = await iterator.next()
    }
    await consume()
    await deaths.full()
  }

  /// A stream of models keeps its last commit, for the end of the store.
  @Test func anActionThatAStreamKeptIsReleasedWhereItMayUseAStore() async {
    struct Reply: ActionType { let using: Mortal }
    let (other, deaths) = (ProbeStore.probe("other"), EventCount(of: 3))
    func consume() async {
      let store = Store<Int, Reply>(model: 0, reducer: Reducer())
      var models = store.stream(.model).map(\.value).makeAsyncIterator()
      for number in 1...3 {
        store.inject(model: number, action: Reply(using: reader(other, deaths)))
        #expect(await models.next() == number)
      }
      #expect(deaths.count == 2)
    }
    await consume()
    await deaths.full()
  }

  /// The changes are merged, and the delta names the last action alone.
  @Test(arguments: [false, true])
  func anActionWhoseDeltaWasMergedIsReleasedWhereItMayUseAStore(isOnQueue: Bool) async {
    struct Book { var all = TrackedDictionary<Int, Int>() }
    struct Reply: ActionType { let using: Mortal }
    let (other, deaths, proceed) = (ProbeStore.probe("other"), EventCount(of: 3), Latch())
    func follow() {
      let store = Store<Book, Reply>(model: Book(), reducer: Reducer())
      let queue = DispatchQueue(label: "deltas")
      let token = isOnQueue ? store.observe(.deltas(\.all), on: .queue(queue)) { _ in } : nil
      let stream = isOnQueue ? nil : store.stream(.deltas(\.all))
      queue.async { proceed.wait() }
      for number in 1...3 {
        var book = store.model
        book.all[number] = number
        store.inject(model: book, action: Reply(using: reader(other, deaths)))
        #expect(deaths.count == number - 1)
      }
      withExtendedLifetime((token, stream)) {}
    }
    follow()
    proceed.open()
    await deaths.full()
  }

  @Test func subscribersComeAndGoUnderContention() async {
    let deaths = EventCount(of: 400)
    let stop = Latch()
    async let producers: Void = onOwnThreads(2) { [store] _ in
      while !stop.isOpen { store.updateModel { $0.count += 1 } }
    }
    await withTaskGroup { group in
      for number in 0..<400 {
        group.addTask { [store] in
          let mortal = Mortal(deaths)
          let stream = store.stream(
            .select(StateSelector { model in withExtendedLifetime(mortal) { model.count } }),
            initial: true, buffering: [.unbounded, .newest(2), .suspending(1)][number % 3])
          var last = -1
          for await change in stream {
            #expect(change.value > last)
            last = change.value
            if number % 2 == 0 || change.value > 1_000 + number { break }
          }
        }
        if number % 5 == 4 { await group.next() }
      }
      group.cancelAll()
    }
    stop.open()
    await producers
    // Those that ended inside another's delivery are released with the next commit.
    store.updateModel { $0.count += 1 }
    await deaths.full()
  }
}

/// Returns what reads a store when it is released.
private func reader(_ store: ProbeStore, _ deaths: EventCount) -> Mortal {
  Mortal {
    _ = store.model
    deaths.add()
  }
}
