import Dispatch
import DispatchStoreTesting
import Testing

@testable import DispatchStore

extension ParcelPath {
  /// The states of one parcel there.
  func values(
    _ store: ParcelStore, id: Int, buffering policy: StreamBuffering = .newest(1),
    initial: Bool = true
  ) -> AsyncMapSequence<StoreStream<ParcelChange>, Parcel?> {
    switch self {
    case .tracked:
      store.stream(.element(\.parcels, id), initial: initial, buffering: policy).map(\.value)
    case .computed:
      store.stream(.element(\.computed, id), initial: initial, buffering: policy).map(\.value)
    case .plain:
      store.stream(.element(\.plain, id), initial: initial, buffering: policy).map(\.value)
    case .list: store.stream(.element(\.list, id), initial: initial, buffering: policy).map(\.value)
    }
  }
}

/// An element that counts its comparisons.
private struct ComparedParcel: Equatable, Sendable {
  var amount: Int
  let compared: EventCount

  static func == (one: Self, other: Self) -> Bool {
    one.compared.add()
    return one.amount == other.amount
  }
}

@Suite("Streams of one element", .timeLimit(.minutes(10)))
struct ElementStreamTests {
  private let store = ParcelStore.parcels()

  @Test(arguments: ParcelPath.allCases)
  func giveThePresentElementThenEachChangeAndNilWhereItIsRemoved(path: ParcelPath) async {
    var values = path.values(store, id: 1, buffering: .unbounded).makeAsyncIterator()
    store.updateModel { $0.put(1, 1) }
    store.updateModel { $0.put(2, 2) }
    store.updateModel { $0.put(1, 3) }
    store.updateModel { $0.put(1, nil) }
    store.updateModel { $0.put(1, 4) }
    for amount in [nil, 1, 3, nil, 4] {
      let next = await values.next()
      #expect(next != nil && next??.amount == amount)
    }
    var late = path.values(store, id: 1).makeAsyncIterator()
    #expect(await late.next()??.amount == 4)
  }

  @Test(arguments: ParcelPath.allCases)
  func withoutThePresentElementTheFirstOtherOneComesFirst(path: ParcelPath) async {
    store.updateModel { $0.put(1, 1) }
    var values = path.values(store, id: 1, initial: false).makeAsyncIterator()
    store.updateModel { $0.put(2, 2) }
    store.updateModel { $0.put(1, 5) }
    #expect(await values.next()??.amount == 5)
  }

  @Test func keepWhatTheirPolicySays() async {
    var newest = store.stream(.element(\.parcels, 1), initial: true, buffering: .newest(2)).map(
      \.value
    )
    .makeAsyncIterator()
    var oldest = store.stream(.element(\.parcels, 1), initial: true, buffering: .oldest(2)).map(
      \.value
    )
    .makeAsyncIterator()
    for amount in 1...5 { store.updateModel { $0.put(1, amount) } }
    for amount in [4, 5] { #expect(await newest.next()??.amount == amount) }
    for amount in [nil, 1] { #expect(await oldest.next()??.amount == amount) }
    store.updateModel { $0.parcels[1]?.amount = 5 }
    #expect(await oldest.next()??.amount == 5, "The consumer has not got it yet.")
  }

  @Test func anEqualElementIsNotDeliveredAgain() async {
    store.updateModel { $0.put(1, 1) }
    var values = store.stream(.element(\.parcels, 1), initial: true, buffering: .newest(2)).map(
      \.value
    )
    .makeAsyncIterator()
    #expect(await values.next()??.amount == 1)
    for amount in [1, 2, 1, 3] { store.updateModel { $0.put(1, amount) } }
    #expect(await values.next()??.amount == 3, "2 was dropped, and 1 is what was delivered.")
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func theirChangesHaveVersionActionTransactionOldAndNew(mode: Dispatcher.Mode) async {
    let dispatcher = Dispatcher(name: "element streams")
    dispatcher.register(store: store)
    store.updateModel { $0.put(1, 7) }
    var changes = store.stream(.element(\.parcels, 1), buffering: .unbounded).makeAsyncIterator()
    var present = store.stream(.element(\.parcels, 1), initial: true, buffering: .unbounded)
      .makeAsyncIterator()
    _ = await store.dispatch(.put(2, 2), mode: mode).result
    let result = await store.dispatch(.put(1, 8), mode: mode).result
    _ = await store.dispatch(.remove(1), mode: mode).result
    let first = await present.next()
    #expect(first?.old == nil && first?.value?.amount == 7 && first?.version == 1)
    #expect(first?.action == nil && first?.dispatchID == nil)
    for change in [await changes.next(), await present.next()] {
      #expect(change?.old??.amount == 7 && change?.value?.amount == 8 && change?.version == 3)
      #expect(change?.action == .put(1, 8) && change?.dispatchID == result.dispatchID)
    }
    let last = await changes.next()
    #expect(last?.old??.amount == 8 && last?.value == .some(nil) && last?.action == .remove(1))
  }

  @Test func commitsToOtherElementsCompareNothingAndResumeNoConsumer() async {
    struct Shelf: Sendable { var all = TrackedDictionary<Int, ComparedParcel>() }
    let (compared, resumed) = (EventCount(of: .max), Recorder<Int?>())
    let store = Store<Shelf, ParcelAction>(model: Shelf(), reducer: Reducer())
    store.updateModel { shelf in
      for id in 0..<100 { shelf.all[id] = ComparedParcel(amount: id, compared: compared) }
    }
    let iterators = (1..<100).map {
      store.stream(.element(\.all, $0), initial: true).map(\.value).makeAsyncIterator()
    }
    let consumer = Task {
      for await value in store.stream(.element(\.all, 0), initial: true).map(\.value) {
        resumed.record(value?.amount)
        if value == nil { break }
      }
    }
    _ = await resumed.first(1)
    let before = compared.count
    for step in 1...50 { store.updateModel { $0.all[50]?.amount = 100 + step } }
    #expect(compared.count == before + 50)
    store.updateModel { $0.all[0] = nil }
    await consumer.value
    #expect(resumed.all == [0, nil])
    withExtendedLifetime(iterators) {}
  }

  @Test func ofAnElementHaveProducersWaitWhereTheyAreTo() async {
    let dispatcher = Dispatcher(name: "element streams")
    dispatcher.register(store: store)
    var values = store.stream(.element(\.parcels, 1), initial: true, buffering: .suspending(1))
      .map(\.value).makeAsyncIterator()
    #expect(await values.next() == .some(nil))
    let (committed, ended) = (Recorder<UInt64>(), Recorder<Int>())
    let token = store.observe(.model) { committed.record($0.version) }
    for amount in 1...2 {
      store.dispatch(.put(2, amount), mode: .serial(lane: "other")) { _ in ended.record(-amount) }
      store.dispatch(.put(1, amount), mode: .serial) { _ in ended.record(amount) }
    }
    _ = await committed.first(4)
    #expect(!ended.all.contains(2))
    #expect(await values.next()??.amount == 1)
    #expect(await Set(ended.first(4)) == [-2, -1, 1, 2])
    token.cancel()
  }

  @Test func ofAnElementEndWithTheStore() async {
    var store: ParcelStore? = .parcels()
    weak let departed = store
    let stream = store!.stream(.element(\.parcels, 1), initial: true).map(\.value)
    var values = stream.makeAsyncIterator()
    store!.updateModel { $0.put(1, 1) }
    store = nil
    #expect(departed == nil)
    #expect(await values.next()??.amount == 1)
    #expect(await values.next() == .none)
    for await _ in stream { Issue.record("The store has gone.") }
  }

  @Test func ofAnElementLeaveNothingWhenTheyEnd() async {
    let seen = Recorder<Parcel?>()
    let consumer = Task { [store] in
      for await parcel in store.stream(.element(\.parcels, 1), initial: true).map(\.value) {
        seen.record(parcel)
      }
    }
    func consume() async {
      for await parcel in store.stream(.element(\.parcels, 1), initial: true).map(\.value)
      where parcel == nil { break }
    }
    _ = await seen.first(1)
    await consume()
    consumer.cancel()
    await consumer.value
    nonisolated(unsafe) var values: AsyncMapSequence<StoreStream<ParcelChange>, Parcel?>.Iterator? =
      store.stream(.element(\.parcels, 1), initial: true).map(\.value).makeAsyncIterator()
    #expect(await values?.next() != nil)
    store.updateModel { book in
      book.put(1, 1)
      values = nil
    }
    #expect(!store.storage.withLock { $0.isObserved })
    store.updateModel { $0.parcels[7] = Parcel(amount: 7) }
    #expect(!store.model.parcels.log.isRecording)
  }

  /// Each history is without a gap, whenever its consumer came.
  @Test func historiesOfElementsAreWholeWhoeverComesAndGoes() async {
    let (store, ids) = (store, 4)
    let count = Load.count(2_000, long: 20_000)
    await withTaskGroup { group in
      for number in 0..<12 {
        group.addTask {
          var dice = SeededGenerator(seed: UInt64(number))
          while true {
            var (last, left) = (ParcelChange?.none, 1 + dice.roll(300))
            let policy: StreamBuffering = number % 2 == 0 ? .unbounded : .suspending(8)
            for await change in store.stream(
              .element(\.parcels, number % ids), initial: true, buffering: policy)
            {
              if let last {
                #expect((change.old ?? nil) == last.value && change.version > last.version)
                #expect((change.old ?? nil) != change.value)
              }
              if change.value?.amount == -1 { return }
              (last, left) = (change, left - 1)
              if left == 0 { break }
            }
          }
        }
      }
      await onOwnThreads(8) { producer in
        var dice = SeededGenerator(seed: UInt64(producer))
        for _ in 0..<count {
          let (id, amount) = (dice.roll(8), dice.roll(50))
          store.updateModel { $0.parcels[id] = amount < 10 ? nil : Parcel(id: id, amount: amount) }
        }
      }
      store.updateModel { book in
        for id in 0..<ids { book.parcels[id] = Parcel(id: id, amount: -1) }
      }
    }
    #expect(!store.storage.withLock { $0.isObserved })
  }
}
