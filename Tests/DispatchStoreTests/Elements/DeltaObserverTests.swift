import Dispatch
import DispatchStoreTesting
import Testing

@testable import DispatchStore

/// A copy of a collection that deltas are applied to, from one thread at a time.
final class ParcelCopy: Sendable {
  private struct State {
    var copy: [Int: Parcel] = [:]
    var deltas: [ParcelDelta] = []
  }

  private let state = Locked(State())
  let versions = Recorder<UInt64>()

  init(_ copy: [Int: Parcel] = [:]) {
    state.withLock { $0.copy = copy }
  }

  var copy: [Int: Parcel] { state.withLock { $0.copy } }
  var deltas: [ParcelDelta] { state.withLock { $0.deltas } }

  func take(_ delta: ParcelDelta) {
    state.withLock { state in
      delta.apply(to: &state.copy)
      state.deltas.append(delta)
    }
    versions.record(delta.versions.upperBound)
  }

  /// Returns once a delta for this version, or a later one, was applied.
  func reached(_ version: UInt64) async {
    await versions.untilRecorded { $0 >= version }
  }
}

/// An element whose comparison with the one after the next waits.
private struct Slow: Equatable, Sendable {
  let number: Int
  let entered: Latch
  let goOn: Latch

  static func == (one: Slow, other: Slow) -> Bool {
    if one.number + 2 == other.number {
      one.entered.open()
      one.goOn.wait()
    }
    return one.number == other.number
  }
}

private struct SlowBook: ModelType {
  var all = TrackedDictionary<Int, Slow>()
}

/// Observers of what commits change in a collection.
@Suite(.timeLimit(.minutes(10)))
struct DeltaObserverTests {
  private let store = ParcelStore.parcels()

  private func holdQueue() -> (queue: DispatchQueue, proceed: Latch) {
    let (queue, proceed) = (DispatchQueue(label: "deltas"), Latch())
    queue.async { proceed.wait() }
    return (queue, proceed)
  }

  @Test(arguments: ElementDelivery.everyPath)
  func nameWhatWasInsertedRemovedAndChanged(way: ElementDelivery, path: ParcelPath) async {
    store.updateModel { book in for id in 1...3 { book.put(id, id) } }
    let copy = ParcelCopy(path.parcels(in: store.model))
    let token = path.observeDeltas(store, on: way.queue) { copy.take($0) }
    store.updateModel { $0.note = "elsewhere" }
    store.updateModel { book in
      book.put(1, nil)
      book.put(2, 5)
      book.put(3, 3)
      book.put(4, 4)
      book.put(9, 9)
      book.put(9, nil)
    }
    await copy.reached(3)
    let delta = copy.deltas[0]
    #expect(copy.deltas.count == 1 && delta.versions == 3...3 && !delta.isReset && !delta.isEmpty)
    #expect(delta.inserted == [4: Parcel(id: 4, amount: 4)])
    #expect(delta.removed == [1: Parcel(id: 1, amount: 1)])
    #expect(delta.changed.keys.sorted() == [2])
    #expect(delta.changed[2]?.old.amount == 2 && delta.changed[2]?.new.amount == 5)
    #expect(copy.copy == path.parcels(in: store.model))
    token.cancel()
    #expect(!store.storage.withLock { $0.isObserved })
  }

  /// Random changes, with snapshots and older models that come back.
  @Test(arguments: UInt64(0)..<40)
  func appliedToAnOldCopyGiveTheNewOne(seed: UInt64) async {
    var dice = SeededGenerator(seed: seed)
    store.updateModel { $0.changeAtRandom(&dice) }
    var (copies, tokens): ([(ParcelPath, ParcelCopy)], [ObserverToken]) = ([], [])
    for (way, path) in ElementDelivery.everyPath {
      let initial = dice.roll(2) == 0
      let copy = ParcelCopy(initial ? [:] : path.parcels(in: store.model))
      copies.append((path, copy))
      tokens.append(path.observeDeltas(store, initial: initial, on: way.queue) { copy.take($0) })
    }
    var snapshots: [ParcelBook] = []
    for _ in 0..<100 {
      store.changeAtRandom(&dice, &snapshots)
    }
    store.updateModel { $0.put(99, 99) }
    let model = store.model
    for (path, copy) in copies {
      await copy.reached(store.version)
      #expect(copy.copy == path.parcels(in: model))
      #expect(copy.deltas.allSatisfy { !$0.isEmpty || $0.isReset })
    }
    withExtendedLifetime(tokens) {}
  }

  @Test(arguments: UInt64(0)..<40)
  func mergedInAnyGroupsGiveTheSame(seed: UInt64) {
    var dice = SeededGenerator(seed: seed)
    let copy = ParcelCopy()
    let token = store.observe(.deltas(\.parcels), initial: seed.isMultiple(of: 2)) {
      copy.take($0.value)
    }
    let first = store.model
    for _ in 0..<60 {
      if dice.roll(15) == 0 { store.inject(model: first) }
      store.updateModel { $0.changeAtRandom(&dice) }
    }
    var (plain, tracked): ([Int: Parcel], TrackedDictionary<Int, Parcel>) = ([:], [:])
    var rest = copy.deltas[...]
    while !rest.isEmpty {
      let group = rest.prefix(1 + dice.roll(8))
      rest = rest.dropFirst(group.count)
      let merged = group.dropFirst().reduce(group[group.startIndex]) { $0.merging($1) }
      #expect(
        merged.versions
          == group[group.startIndex].versions.lowerBound...group.last!.versions.upperBound)
      check(merged, on: plain)
      merged.apply(to: &plain)
      merged.apply(to: &tracked)
    }
    #expect(plain == store.model.parcels.dictionary && tracked.dictionary == plain)
    token.cancel()
  }

  /// What a delta says was there is there.
  private func check(_ delta: ParcelDelta, on copy: [Int: Parcel]) {
    if delta.isReset {
      #expect(delta.removed.isEmpty && delta.changed.isEmpty)
      return
    }
    for key in delta.inserted.keys { #expect(copy[key] == nil) }
    for (key, old) in delta.removed { #expect(copy[key] == old) }
    for (key, change) in delta.changed {
      #expect(copy[key] == change.old && change.old != change.new)
    }
  }

  @Test func aQueueThatIsBehindGetsOneDeltaWithTheNetEffect() async {
    let (queue, proceed) = holdQueue()
    let copy = ParcelCopy()
    let token = store.observe(.deltas(\.parcels), on: .queue(queue)) { copy.take($0.value) }
    for step in 1...1_000 { store.updateModel { $0.put(step % 10, step) } }
    store.updateModel { book in for id in 5..<10 { book.put(id, nil) } }
    proceed.open()
    await copy.reached(1_001)
    #expect(copy.deltas.count == 1 && copy.deltas[0].versions == 1...1_001)
    #expect(copy.deltas[0].inserted.keys.sorted() == Array(0..<5))
    #expect(copy.deltas[0].removed.isEmpty && copy.deltas[0].changed.isEmpty)
    token.cancel()
  }

  @Test func whatWasUndoneMeanwhileIsNotDelivered() async {
    let (queue, proceed) = holdQueue()
    let copy = ParcelCopy()
    let token = store.observe(.deltas(\.parcels), on: .queue(queue)) { copy.take($0.value) }
    store.updateModel { $0.put(1, 1) }
    store.updateModel { $0.put(1, nil) }
    proceed.open()
    queue.sync {}
    store.updateModel { $0.put(2, 2) }
    await copy.reached(3)
    #expect(copy.deltas.allSatisfy { $0.inserted.keys.sorted() == [2] })
    token.cancel()
  }

  @Test(.timeLimit(.minutes(1)))
  func areMergedUnderNoLockThatTheirQueueNeeds() async {
    let (entered, goOn, isFree) = (Latch(), Latch(), Latch())
    let store = Store<SlowBook, HandledAction>(identifier: "slow", model: SlowBook()) {}
    store.updateModel { $0.all[1] = Slow(number: 0, entered: entered, goOn: goOn) }
    let (held, numbers) = (holdQueue(), Recorder<Int?>())
    let token = store.observe(.deltas(\.all), on: .queue(held.queue)) {
      numbers.record($0.value.changed[1]?.new.number)
    }
    store.updateModel { $0.all[1] = Slow(number: 1, entered: entered, goOn: goOn) }
    async let merged: Void = onOwnThread {
      store.updateModel { $0.all[1] = Slow(number: 2, entered: entered, goOn: goOn) }
    }
    await entered.opened()
    held.queue.async { isFree.open() }
    held.proceed.open()
    await isFree.opened()
    goOn.open()
    await merged
    #expect(await numbers.first(1) == [2])
    token.cancel()
  }

  @Test(arguments: ElementDelivery.everyPath)
  func beginWithThePresentContentWithInitial(way: ElementDelivery, path: ParcelPath) async {
    store.updateModel { book in for id in 1...3 { book.put(id, id) } }
    let copy = ParcelCopy([7: Parcel(id: 7)])
    let token = path.observeDeltas(store, initial: true, on: way.queue) { copy.take($0) }
    await copy.reached(1)
    let delta = copy.deltas[0]
    #expect(delta.isReset && delta.versions == 1...1 && delta.inserted == copy.copy)
    #expect(copy.copy == path.parcels(in: store.model))
    store.updateModel { $0.put(1, nil) }
    await copy.reached(2)
    #expect(copy.deltas.last?.removed.keys.sorted() == [1])
    token.cancel()
  }

  @Test func aResetThatIsNotTakenKeepsNothingOfElementsThatCameAndWent() {
    typealias Delta = KeyedDelta<Int, Int>
    var kept = Delta(versions: 0...0, content: [0: 0])
    for key in 0..<100 {
      for value in [key, nil] {
        let version = kept.versions.upperBound + 1
        kept = kept.merging(
          Delta(
            versions: version...version,
            entries: [key: (old: value == nil ? key : nil, new: value)]))
      }
    }
    // That the element of the content has gone is kept.
    #expect(kept.isReset && kept.entries.keys.sorted() == [0])
    #expect(kept.inserted.isEmpty && kept.versions == 0...200)
  }

  /// A collection that records its changes at times.
  private struct Numbers: KeyedCollection, Sendable {
    var elements = TrackedDictionary<Int, Int>()
    var records = true

    func value(forKey key: Int) -> Int? { elements[key] }
    var valuesByKey: [Int: Int] { elements.dictionary }
    var recordedChanges: RecordedChanges<Int, Int>? { records ? elements.recordedChanges : nil }
  }

  private struct Sums: ModelType { var numbers = Numbers() }
  private struct Nothing: ActionType {}

  @Test func aCollectionMayRecordItsChangesAtTimes() {
    let store = Store(model: Sums(), reducer: FunctionReducer<Sums, Nothing> { _, _ in })
    let copy = Locked<[Int: Int]>([:])
    let token = store.observe(.deltas(\.numbers)) { change in
      copy.withLock { change.value.apply(to: &$0) }
    }
    let steps: [(key: Int, value: Int?, records: Bool)] = [
      (1, 1, true), (2, 2, true), (1, nil, false), (3, 3, false), (2, nil, true), (2, 5, true),
      (3, nil, false), (1, 7, false), (1, nil, true),
    ]
    for (key, value, records) in steps {
      store.updateModel { sums in
        sums.numbers.elements[key] = value
        sums.numbers.records = records
      }
      #expect(copy.withLock(\.self) == store.model.numbers.valuesByKey)
    }
    token.cancel()
  }

  @Test func anEmptyCollectionBeginsWithAnEmptyReset() async {
    let (inline, queued) = (ParcelCopy([1: Parcel()]), ParcelCopy([1: Parcel()]))
    let tokens = [
      store.observe(.deltas(\.parcels), initial: true) { inline.take($0.value) },
      store.observe(.deltas(\.parcels), initial: true, on: .main) { queued.take($0.value) },
    ]
    await queued.reached(0)
    #expect(inline.copy.isEmpty && queued.copy.isEmpty)
    withExtendedLifetime(tokens) {}
  }

  @Test func anotherCollectionThatWasAssignedIsAResetAndReplacedContentsAreChanges() {
    store.updateModel { book in for id in 1...3 { book.put(id, id) } }
    let copy = ParcelCopy(store.model.parcels.dictionary)
    let token = store.observe(.deltas(\.parcels)) { copy.take($0.value) }
    store.updateModel { $0.parcels = [1: Parcel(id: 1, amount: 1), 5: Parcel(id: 5)] }
    #expect(copy.deltas.last?.isReset == true)
    store.updateModel { $0.parcels.replaceContents(with: [1: Parcel(id: 1, amount: 1)]) }
    #expect(copy.deltas.last?.isReset == false)
    #expect(copy.deltas.last?.removed.keys.sorted() == [5])
    #expect(copy.copy == store.model.parcels.dictionary)
    token.cancel()
  }

  enum OtherReader: CaseIterable { case none, history, persistence }

  @Test(arguments: OtherReader.allCases)
  func whatFailedIsDeliveredAndWhatWasSilentComesWithTheNext(
    beside other: OtherReader
  ) async throws {
    let dispatcher = Dispatcher()
    if other == .persistence {
      try await MemoryDatabase().open(for: dispatcher)
      try await dispatcher.register(store: store, persisted: .elements(\.parcels))
    } else {
      dispatcher.register(store: store)
    }
    let history = other == .history ? UndoHistory(of: store.undoesInPlace(\.parcels)) : nil
    let copy = ParcelCopy()
    let token = store.observe(.deltas(\.parcels)) { copy.take($0.value) }
    await dispatcher.send(ParcelAction.fail(1, 1))
    await dispatcher.send(ParcelAction.silent(2, 2))
    await dispatcher.send(ParcelAction.quiet(3, 3))
    let late = ParcelCopy()
    let lateToken = store.observe(.deltas(\.parcels), initial: true) { late.take($0.value) }
    await dispatcher.send(ParcelAction.put(4, 4))
    #expect(copy.deltas.map { $0.inserted.keys.sorted() } == [[1], [2, 3, 4]])
    #expect(late.deltas.map { $0.inserted.keys.sorted() } == [[1, 2, 3], [4]])
    #expect(copy.deltas.allSatisfy { !$0.isReset })
    withExtendedLifetime((token, lateToken, history)) {}
  }

  /// Each with a model that was copied from the other.
  @Test(arguments: UInt64(0)..<20)
  func ofTwoStoresThatShareACollectionDoNotMix(seed: UInt64) {
    var dice = SeededGenerator(seed: seed)
    let stores = [
      store, ParcelStore(identifier: "other", model: store.model, reducer: ParcelReducer()),
    ]
    let copies = [ParcelCopy(), ParcelCopy()]
    let tokens = zip(stores, copies).map { store, copy in
      store.observe(.deltas(\.parcels)) { copy.take($0.value) }
    }
    for _ in 0..<100 {
      let index = dice.roll(2)
      if dice.roll(6) == 0 { stores[index].inject(model: stores[1 - index].model) }
      stores[index].updateModel { $0.changeAtRandom(&dice) }
    }
    for (store, copy) in zip(stores, copies) {
      #expect(copy.copy == store.model.parcels.dictionary)
    }
    withExtendedLifetime(tokens) {}
  }

  @Test func cancelledInsideTheirOwnCallTheyGetNoMore() {
    let (tokens, copy) = (Recorder<ObserverToken>(), ParcelCopy())
    tokens.record(
      store.observe(.deltas(\.parcels)) { change in
        copy.take(change.value)
        for token in tokens.all { token.cancel() }
      })
    store.updateModel { $0.put(1, 1) }
    store.updateModel { $0.put(1, 2) }
    #expect(copy.deltas.count == 1)
    #expect(!store.storage.withLock { $0.isObserved })
  }

  @Test func afterTheLastObserverHasGoneTheNextChangeDropsWhatWasNoted() {
    let tokens = [
      store.observe(.deltas(\.parcels)) { _ in }, store.observe(.element(\.parcels, 1)) { _ in },
    ]
    store.updateModel { $0.put(1, 1) }
    #expect(store.model.parcels.log.isRecording)
    for token in tokens { token.cancel() }
    store.updateModel { $0.put(1, 2) }
    let log = store.model.parcels.log
    #expect(!log.isRecording && log.entries.isEmpty)
  }

  @Test func onceTheirStoreHasGoneACopyOfTheCollectionNotesNothingForThem() {
    var (copy, tokens) = (TrackedDictionary<Int, Parcel>(), [ObserverToken]())
    do {
      let store = ParcelStore.parcels()
      tokens.append(store.observe(.deltas(\.parcels)) { _ in })
      tokens.append(store.observe(.element(\.parcels, 1)) { _ in })
      store.updateModel { $0.put(1, 1) }
      copy = store.model.parcels
    }
    #expect(copy.log.isRecording)
    tokens = []
    copy[1] = nil
    #expect(!copy.log.isRecording && copy.log.entries.isEmpty)
  }
}
