import Dispatch
import DispatchStoreTesting
import Testing

@testable import DispatchStore

typealias ParcelDeltas = AsyncMapSequence<
  StoreStream<Change<ParcelDelta, ParcelAction>>, ParcelDelta
>

extension ParcelPath {
  /// The deltas of all parcels there.
  func deltas(
    _ store: ParcelStore, buffering policy: StreamBuffering = .newest(1), initial: Bool = false
  ) -> ParcelDeltas {
    switch self {
    case .tracked:
      store.stream(.deltas(\.parcels), initial: initial, buffering: policy).map(\.value)
    case .computed:
      store.stream(.deltas(\.computed), initial: initial, buffering: policy).map(\.value)
    case .plain: store.stream(.deltas(\.plain), initial: initial, buffering: policy).map(\.value)
    case .list: store.stream(.deltas(\.list), initial: initial, buffering: policy).map(\.value)
    }
  }
}

@Suite("Streams of deltas", .timeLimit(.minutes(10)))
struct DeltaStreamTests {
  private let store = ParcelStore.parcels()

  static let everyPolicy: [StreamBuffering] = [.newest(1), .unbounded, .suspending(3)]

  @Test(arguments: ParcelPath.allCases)
  func mergeWhatTheConsumerIsBehind(path: ParcelPath) async {
    var deltas = path.deltas(store).makeAsyncIterator()
    for step in 1...100 { store.updateModel { $0.put(step % 10, step) } }
    store.updateModel { book in for id in 5..<10 { book.put(id, nil) } }
    store.updateModel { $0.note = "elsewhere" }
    let first = await deltas.next()
    #expect(first?.versions == 1...101 && first?.isReset == false)
    #expect(first?.inserted.keys.sorted() == Array(0..<5))
    #expect(first?.removed.isEmpty == true && first?.changed.isEmpty == true)
    store.updateModel { $0.put(1, 7) }
    let second = await deltas.next()
    #expect(second?.versions == 103...103 && second?.changed[1]?.new.amount == 7)
  }

  @Test(arguments: [StreamBuffering.unbounded, .suspending(0), .suspending(9)])
  func thatAreNotMergedAreOneForEachCommit(policy: StreamBuffering) async {
    var deltas = store.stream(.deltas(\.parcels), buffering: policy).map(\.value)
      .makeAsyncIterator()
    for step in 1...20 { store.updateModel { $0.put(1, step) } }
    store.updateModel { $0.put(1, nil) }
    #expect(await deltas.next()?.inserted[1]?.amount == 1)
    for step in 2...20 {
      let delta = await deltas.next()
      #expect(delta?.versions.lowerBound == UInt64(step) && delta?.versions.count == 1)
      #expect(delta?.changed[1]?.old.amount == step - 1 && delta?.changed[1]?.new.amount == step)
    }
    #expect(await deltas.next()?.removed[1]?.amount == 20)
  }

  @Test(arguments: ParcelPath.allCases, everyPolicy)
  func beginWithThePresentContentAsInsertions(
    path: ParcelPath, policy: StreamBuffering
  ) async {
    var empty = path.deltas(store, buffering: policy, initial: true).makeAsyncIterator()
    let nothing = await empty.next()
    #expect(nothing?.isReset == true && nothing?.inserted.isEmpty == true)
    store.updateModel { book in for id in 1...3 { book.put(id, id) } }
    var deltas = path.deltas(store, buffering: policy, initial: true).makeAsyncIterator()
    var later = path.deltas(store, buffering: policy).makeAsyncIterator()
    let first = await deltas.next()
    #expect(first?.isReset == true && first?.versions == 1...1)
    #expect(first?.inserted == path.parcels(in: store.model))
    store.updateModel { $0.put(1, nil) }
    for delta in [await deltas.next(), await later.next()] {
      #expect(delta?.removed.keys.sorted() == [1] && delta?.isReset == false)
    }
  }

  @Test func areNotDeliveredWhereALaterCommitHasUndoneThem() async {
    let seen = Recorder<ParcelDelta>()
    let consumer = Task { [store] in
      for await delta in store.stream(.deltas(\.parcels), initial: true).map(\.value) {
        seen.record(delta)
        if delta.inserted[2] != nil { break }
      }
    }
    _ = await seen.first(1)
    for _ in 1...100 {
      store.updateModel { $0.put(1, 1) }
      store.updateModel { $0.put(1, nil) }
    }
    store.updateModel { $0.put(2, 2) }
    await consumer.value
    for delta in seen.all.dropFirst() { #expect(!delta.isEmpty) }
    var copy: [Int: Parcel] = [:]
    for delta in seen.all { delta.apply(to: &copy) }
    #expect(copy == store.model.parcels.dictionary)
  }

  @Test func eachIteratorHasDeltasOfItsOwn() async {
    let deltas = store.stream(.deltas(\.parcels)).map(\.value)
    var first = deltas.makeAsyncIterator()
    store.updateModel { $0.put(1, 1) }
    var second = deltas.makeAsyncIterator()
    store.updateModel { $0.put(2, 2) }
    #expect(await first.next()?.versions == 1...2)
    #expect(await second.next()?.versions == 2...2)
  }

  /// Random changes, with snapshots and older models that come back, by consumers that are behind by any number.
  @Test(arguments: 0..<UInt64(Load.isSanitized ? 3 : 30))
  func appliedToAnOldCopyGiveTheNewOneWhereverTheyAreTaken(seed: UInt64) async {
    var dice = SeededGenerator(seed: seed)
    store.updateModel { $0.changeAtRandom(&dice) }
    var consumers = ParcelPath.allCases.flatMap { path in
      Self.everyPolicy.map { policy in
        let initial = dice.roll(2) == 0
        return Consumer(
          path: path, version: store.version,
          deltas: path.deltas(store, buffering: policy, initial: initial).makeAsyncIterator(),
          copy: initial ? [7: Parcel(id: 7)] : path.parcels(in: store.model))
      }
    }
    var snapshots: [ParcelBook] = []
    for step in 0..<60 {
      store.changeAtRandom(&dice, &snapshots)
      // So that each consumer has a delta to take.
      store.updateModel { $0.put(99, 1_000 + step) }
      for index in consumers.indices where dice.roll(3) == 0 {
        await consumers[index].take(store.version)
        #expect(consumers[index].copy == consumers[index].path.parcels(in: store.model))
      }
    }
  }

  /// A copy of the collection, by an iterator of deltas.
  private struct Consumer {
    let path: ParcelPath
    var version: UInt64
    var deltas: ParcelDeltas.Iterator
    var copy: [Int: Parcel]

    /// Takes deltas until the copy is that of a version.
    mutating func take(_ version: UInt64) async {
      while self.version < version {
        guard let delta = await deltas.next() else { return }
        #expect(delta.isReset || !delta.isEmpty)
        delta.apply(to: &copy)
        self.version = delta.versions.upperBound
      }
    }
  }

  @Test func producersWaitWhereTheConsumerIsTooFarBehind() async {
    let dispatcher = Dispatcher(name: "deltas")
    dispatcher.register(store: store)
    var deltas = store.stream(.deltas(\.parcels), initial: true, buffering: .suspending(1))
      .map(\.value).makeAsyncIterator()
    #expect(await deltas.next()?.isReset == true)
    let (committed, ended) = (Recorder<UInt64>(), Recorder<Int>())
    let token = store.observe(.model) { committed.record($0.version) }
    store.dispatch(.put(1, 1), mode: .serial) { _ in ended.record(1) }
    _ = await ended.first(1)
    store.dispatch(.put(1, 2), mode: .serial) { _ in ended.record(2) }
    _ = await committed.first(2)
    #expect(ended.count == 1)
    #expect(await deltas.next()?.versions == 1...1)
    _ = await ended.first(2)
    token.cancel()
  }
}

@Suite("The end of streams of deltas", .timeLimit(.minutes(10)))
struct DeltaStreamEndTests {
  private let store = ParcelStore.parcels()

  /// Nothing of a subscription is left in the store, nor in its collection.
  private func expectNoReader() {
    #expect(!store.storage.withLock { $0.isObserved })
    store.updateModel { $0.parcels[7] = Parcel(amount: 7) }
    #expect(!store.model.parcels.log.isRecording)
  }

  @Test(arguments: DeltaStreamTests.everyPolicy)
  func theirStoreIsNotKeptAliveAndWhatIsKeptCanBeTaken(policy: StreamBuffering) async {
    var store: ParcelStore? = .parcels()
    weak let departed = store
    let stream = store!.stream(.deltas(\.parcels), buffering: policy).map(\.value)
    var deltas = stream.makeAsyncIterator()
    store!.updateModel { $0.put(1, 1) }
    store = nil
    #expect(departed == nil)
    #expect(await deltas.next()?.inserted.keys.sorted() == [1])
    #expect(await deltas.next() == nil)
    for await _ in stream { Issue.record("The store has gone.") }
  }

  @Test func aConsumerThatWaitsForADeltaIsResumedWhenTheStoreGoes() async {
    var store: ParcelStore? = .parcels()
    let (deltas, seen) = (
      store!.stream(.deltas(\.parcels), initial: true).map(\.value), Recorder<ParcelDelta>()
    )
    let consumer = Task { for await delta in deltas { seen.record(delta) } }
    _ = await seen.first(1)
    store = nil
    await consumer.value
    #expect(seen.count == 1)
  }

  @Test(arguments: DeltaStreamTests.everyPolicy)
  func leavingTheLoopReleasesWhatTheCollectionNotes(policy: StreamBuffering) async {
    func consume() async {
      for await delta in store.stream(.deltas(\.parcels), initial: true, buffering: policy).map(
        \.value)
      {
        guard delta.isReset else { break }
        store.updateModel { $0.put(1, 1) }
      }
    }
    await consume()
    expectNoReader()
  }

  @Test func cancellingTheConsumerReleasesWhatTheCollectionNotes() async {
    let seen = Recorder<ParcelDelta>()
    let consumer = Task { [store] in
      for await delta in store.stream(.deltas(\.parcels), initial: true).map(\.value) {
        seen.record(delta)
      }
    }
    _ = await seen.first(1)
    consumer.cancel()
    await consumer.value
    expectNoReader()
  }

  @Test func anIteratorOfDeltasMayBeReleasedInAnExclusiveSection() async {
    nonisolated(unsafe) var deltas: ParcelDeltas.Iterator? = store.stream(.deltas(\.parcels)).map(
      \.value
    )
    .makeAsyncIterator()
    store.updateModel { $0.put(1, 1) }
    #expect(await deltas?.next()?.inserted.count == 1)
    store.updateModel { book in
      book.put(1, 2)
      deltas = nil
    }
    expectNoReader()
  }
}

/// Many producers, and consumers of deltas that come and go.
@Suite(.timeLimit(.minutes(10)))
struct DeltaStreamLoadTests {
  private static let producers = 8
  private static let ids = 16

  /// What each version of the collection was, by a hash.
  private typealias History = Locked<[UInt64: Int]>

  @Test(arguments: UInt64(0)..<3)
  func copiesAreTheContentOfTheirVersionWhoeverComesAndGoes(seed: UInt64) async {
    let dispatcher = Dispatcher(name: "delta load")
    let store = dispatcher.register(store: ParcelStore.parcels())
    let (history, copies) = (History([0: [Int: Parcel]().hashValue]), Recorder<(UInt64, Int)>())
    let token = store.observe(.model) { change in
      let hash = change.value.parcels.dictionary.hashValue
      history.withLock { $0[change.version] = hash }
    }
    await withTaskGroup { group in
      for number in 0..<9 {
        let policy = DeltaStreamTests.everyPolicy[number % 3]
        group.addTask { await Self.comeAndGo(store, policy, seed ^ UInt64(number) << 8, copies) }
      }
      await Self.produce(store, seed)
      // Each consumer ends with the one that has taken this.
      store.updateModel { $0.parcels[-1] = Parcel(id: -1) }
    }
    token.cancel()
    let (all, known) = (copies.all, history.withLock { $0 })
    #expect(all.allSatisfy { known[$0.0] == $0.1 })
    #expect(all.count(where: { $0.0 == store.version }) == 9)
    #expect(!store.storage.withLock { $0.isObserved })
  }

  /// In all modes, and by updates that come from outside.
  private static func produce(_ store: ParcelStore, _ seed: UInt64) async {
    let count = Load.count(300, long: 4_200)
    let ended = EventCount(of: producers * count)
    await onOwnThreads(producers) { producer in
      var dice = SeededGenerator(seed: seed << 8 | UInt64(producer))
      for _ in 0..<count {
        let (id, amount) = (dice.roll(ids), dice.roll(1_000))
        if dice.roll(4) == 0 {
          store.updateModel { $0.parcels[id]?.amount = amount }
          ended.add()
          continue
        }
        let mode = Dispatcher.Mode.everyMode[dice.roll(Dispatcher.Mode.everyMode.count)]
        store.dispatch(amount < 300 ? .remove(id) : .put(id, amount), mode: mode) { _ in ended.add()
        }
      }
    }
    await ended.full()
  }

  /// Subscribes again and again, and takes some deltas each time; the content then is that of the delta's version.
  private static func comeAndGo(
    _ store: ParcelStore, _ policy: StreamBuffering, _ seed: UInt64,
    _ copies: Recorder<(UInt64, Int)>
  ) async {
    var dice = SeededGenerator(seed: seed)
    while true {
      var (copy, left) = ([Int: Parcel](), 1 + dice.roll(200))
      var version: UInt64?
      for await delta in store.stream(.deltas(\.parcels), initial: true, buffering: policy).map(
        \.value)
      {
        #expect(delta.isReset == (version == nil))
        if let version { #expect(delta.versions.lowerBound > version) }
        delta.apply(to: &copy)
        version = delta.versions.upperBound
        copies.record((delta.versions.upperBound, copy.hashValue))
        if copy[-1] != nil { return }
        left -= 1
        if left == 0 { break }
      }
    }
  }

  private struct WrongCopy: Error {
    let words: String
  }

  /// Consumers that subscribe, take and leave among commits of all modes.
  @Sendable private static func explore(_ dispatcher: Dispatcher) async throws {
    let store = dispatcher.register(store: ParcelStore.parcels())
    let copies = Locked<[[Int: Parcel]]>([])
    @Sendable func consume(_ policy: StreamBuffering, leaves: Bool) async {
      var copy: [Int: Parcel] = [:]
      for await delta in store.stream(.deltas(\.parcels), initial: true, buffering: policy).map(
        \.value)
      {
        delta.apply(to: &copy)
        if leaves { break }
        if copy[-1] != nil { break }
      }
      if !leaves { copies.withLock { $0.append(copy) } }
    }
    await withTaskGroup { group in
      for policy in [StreamBuffering.newest(1), .newest(1), .unbounded, .suspending(1)] {
        group.addTask { await consume(policy, leaves: false) }
      }
      group.addTask { for _ in 0..<3 { await consume(.newest(1), leaves: true) } }
      group.addTask {
        await withTaskGroup { group in
          for (id, mode) in [(1, Dispatcher.Mode.async), (2, .serial), (1, .sync), (3, .async)] {
            group.addTask {
              _ = await dispatcher.dispatch(action: ParcelAction.put(id, id), mode: mode).result
              _ = await dispatcher.dispatch(action: ParcelAction.remove(id), mode: mode).result
            }
          }
        }
        store.updateModel { $0.parcels[-1] = Parcel(id: -1) }
      }
    }
    let (all, model) = (copies.withLock { $0 }, store.model.parcels.dictionary)
    if all != Array(repeating: model, count: 4) { throw WrongCopy(words: "\(all)") }
    if store.storage.withLock({ $0.isObserved }) { throw WrongCopy(words: "still observed") }
  }

  @Test func copiesFromStreamsAreRightInEachInterleaving() async throws {
    try await DispatchStoreTesting.explore(
      seeds: 0..<UInt64(Load.count(300, long: 20_000)), Self.explore)
  }
}
