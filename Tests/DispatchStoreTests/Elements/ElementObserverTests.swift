import Dispatch
import Testing

@testable import DispatchStore

extension Change where Value == Parcel? {
  /// "version: old amount → new amount".
  var words: String {
    "\(version): \((old ?? nil).map { "\($0.amount)" } ?? "-") → \(value.map { "\($0.amount)" } ?? "-")"
  }
}

/// How an observer is called, for tests of each way.
enum ElementDelivery: CaseIterable, Sendable {
  case inline, queued

  var queue: ObserverDelivery {
    self == .inline ? .inline : .queue(DispatchQueue(label: "elements"))
  }

  static let everyPath = allCases.flatMap { way in ParcelPath.allCases.map { (way, $0) } }
}

/// Observers of one element.
@Suite(.timeLimit(.minutes(10)))
struct ElementObserverTests {
  private let store = ParcelStore.parcels()
  private let received = Recorder<String>()

  private func observe(
    _ id: Int, _ path: ParcelPath = .tracked, _ way: ElementDelivery = .inline,
    initial: Bool = false, _ body: @escaping @Sendable (ParcelChange) -> Void = { _ in }
  ) -> ObserverToken {
    let received = received
    return path.observe(store, id: id, initial: initial, on: way.queue) { change in
      received.record(change.words)
      body(change)
    }
  }

  private var isObserved: Bool {
    store.storage.withLock { $0.isObserved }
  }

  /// A model with a NaN in each kind of part.
  private struct Gauge: ModelType {
    var value = Double.nan
    var tracked: TrackedDictionary<Int, Double> = [1: .nan]
    var plain: [Int: Double] = [1: .nan, 2: 1]
    var count = 0
  }

  @Test func andOfPartsAreNotNotifiedOfANaNThatStays() {
    let store = Store(identifier: "gauge", model: Gauge(), reducer: Reducer<Gauge, HandledAction>())
    let received = received
    let tokens = [
      store.child(\.value).observe { _ in received.record("child") },
      store.observe(.part(\.value)) { _ in received.record("part") },
      store.observe(.element(\.plain, 1)) { _ in received.record("element") },
      store.observe(.deltas(\.plain)) { _ in received.record("deltas") },
      store.observe(.element(\.tracked, 1)) { _ in received.record("tracked element") },
      store.observe(.deltas(\.tracked)) { _ in received.record("tracked deltas") },
    ]
    for _ in 0..<3 {
      store.updateModel { gauge in
        gauge.count += 1
        gauge.tracked[1] = .nan
      }
    }
    #expect(received.all == [])
    withExtendedLifetime(tokens) {}
  }

  @Test(arguments: ElementDelivery.everyPath)
  func areNotifiedOfTheirElementAloneAndWithWhatItWas(
    way: ElementDelivery, path: ParcelPath
  ) async {
    let token = observe(7, path, way)
    for id in 0..<20 { store.updateModel { $0.put(id, id) } }
    store.updateModel { $0.note = "elsewhere" }
    store.updateModel { book in for id in 0..<20 { book.put(id, 2) } }
    store.updateModel { $0.put(7, nil) }
    store.updateModel { $0.put(7, nil) }
    store.updateModel { $0.put(7, 9) }
    #expect(await received.first(4) == ["8: - → 7", "22: 7 → 2", "23: 2 → -", "25: - → 9"])
    token.cancel()
    #expect(!isObserved)
  }

  @Test(arguments: ElementDelivery.everyPath)
  func getThePresentElementFirstWithInitial(
    way: ElementDelivery, path: ParcelPath
  ) async {
    store.updateModel { $0.put(1, 5) }
    let tokens = [observe(1, path, way, initial: true)]
    #expect(await received.first(1) == ["1: - → 5"])
    let more = observe(2, path, way, initial: true)
    #expect(await received.first(2).last == "1: - → -")
    store.updateModel { $0.put(1, 6) }
    #expect(await received.first(3).last == "2: 5 → 6")
    withExtendedLifetime((tokens, more)) {}
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func getTheActionAndTheTransaction(mode: Dispatcher.Mode) async {
    let dispatcher = Dispatcher()
    let (store, changes) = (dispatcher.register(store: store), Recorder<ParcelChange>())
    let tokens = [
      store.observe(.element(\.parcels, 1)) { changes.record($0) },
      store.observe(.element(\.parcels, 1), on: .queue(DispatchQueue(label: "q"))) {
        changes.record($0)
      },
    ]
    let handle = dispatcher.dispatch(action: ParcelAction.put(1, 3), mode: mode)
    _ = await handle.result
    for change in await changes.first(2) {
      #expect(change.action == .put(1, 3) && change.dispatchID == handle.dispatchID)
      #expect(change.version == 1 && change.value?.amount == 3)
    }
    withExtendedLifetime(tokens) {}
  }

  @Test func ofOneElementAreNotifiedInOrderOfRegistration() {
    let names = Recorder<Int>()
    var tokens = (0..<10).map { name in
      store.observe(.element(\.parcels, 1)) { _ in names.record(name) }
    }
    tokens.remove(at: 3).cancel()
    tokens.append(store.observe(.element(\.parcels, 1)) { _ in names.record(10) })
    store.updateModel { $0.put(1, 1) }
    #expect(names.all == [0, 1, 2, 4, 5, 6, 7, 8, 9, 10])
    withExtendedLifetime(tokens) {}
  }

  @Test(arguments: ParcelPath.allCases)
  func ofSeveralElementsAreNotifiedInTheOrderOfTheFirstOfEach(path: ParcelPath) {
    let ids = [5, 2, 9, 2, 7, 5, 1]
    let names = Recorder<Int>()
    let tokens = ids.map { id in path.observe(store, id: id) { _ in names.record(id) } }
    store.updateModel { book in for id in 0..<10 { book.put(id, id) } }
    #expect(names.all == [5, 5, 2, 2, 9, 7, 1])
    let empty = ParcelBook()
    store.inject(model: empty)
    store.updateModel { book in for id in 0..<10 { book.put(id, id) } }
    store.updateModel { book in
      book.parcels.removeAll()
      (book.plain, book.list) = ([:], [])
    }
    #expect(names.count == 28 && (0..<28).allSatisfy { names.all[$0] == names.all[$0 % 7] })
    withExtendedLifetime(tokens) {}
  }

  /// Only those of elements that were touched are looked at, however many there are.
  @Test func ofOtherElementsCostNoComparison() {
    let compared = EventCount(of: .max)
    let store = Store<Weights, ParcelAction>(model: Weights(), reducer: Reducer())
    store.updateModel { weights in
      for id in 0..<1_000 { weights.all[id] = Weight(value: id, compared: compared) }
    }
    let tokens = (0..<1_000).map { store.observe(.element(\.all, $0)) { _ in } }
    let before = compared.count
    store.updateModel { $0.all[500]?.value = 0 }
    #expect(compared.count == before + 1)
    withExtendedLifetime(tokens) {}
  }

  @Test func areCalledOnTheMainQueue() async {
    let places = Recorder<Bool>()
    let token = store.observe(.element(\.parcels, 1), initial: true, on: .main) { _ in
      places.record(Here.isMainQueue)
    }
    #expect(await places.first(1) == [true])
    token.cancel()
  }

  @Test(arguments: ElementDelivery.everyPath)
  func areNotNotifiedAfterTheirTokensEnd(way: ElementDelivery, path: ParcelPath) async {
    let other = observe(2, path, way)
    let token = observe(1, path, way)
    var released: ObserverToken? = observe(1, path, way)
    withExtendedLifetime(released) {}
    released = nil
    token.cancel()
    store.updateModel { $0.put(1, 1) }
    store.updateModel { $0.put(2, 2) }
    #expect(await received.first(1) == ["2: - → 2"])
    other.cancel()
    #expect(!isObserved)
  }

  @Test func mayCancelThemselvesAndOthersAndAddSomeWhileTheyAreNotified() {
    let tokens = Recorder<ObserverToken>()
    let (store, received) = (store, received)
    let first = observe(1) { change in
      for token in tokens.all { token.cancel() }
      tokens.record(
        store.observe(.element(\.parcels, 1)) { received.record("later \($0.words)") })
    }
    tokens.record(first)
    tokens.record(observe(1))
    let last = observe(1)
    store.updateModel { $0.put(1, 1) }
    store.updateModel { $0.put(1, 2) }
    #expect(received.all == ["1: - → 1", "1: - → 1", "2: 1 → 2", "later 2: 1 → 2"])
    withExtendedLifetime(last) {}
  }

  @Test func cancelledInsideAnExclusiveSectionAreReleasedAtItsEnd() {
    let released = Latch()
    let token = observeHolding(Mortal(released))
    store.updateModel { _ in token.cancel() }
    #expect(released.isOpen && !isObserved)
  }

  private func observeHolding(_ signal: Mortal) -> ObserverToken {
    store.observe(.element(\.parcels, 1)) { _ in withExtendedLifetime(signal) {} }
  }

  @Test func whatTheyCaptureIsReleasedWithTheirTokens() {
    let released = Latch()
    var token: ObserverToken? = observeHolding(Mortal(released))
    store.updateModel { $0.put(1, 1) }
    #expect(!released.isOpen)
    withExtendedLifetime(token) {}
    token = nil
    #expect(released.isOpen)
  }

  @Test func mayChangeTheirStore() {
    let store = store
    let token = observe(1) { change in
      guard let amount = change.value?.amount, amount < 3 else { return }
      store.updateModel { $0.put(1, amount + 1) }
    }
    let second = observe(1)
    store.updateModel { $0.put(1, 1) }
    let each = ["1: - → 1", "2: 1 → 2", "3: 2 → 3"]
    #expect(received.all == each.flatMap { [$0, $0] })
    withExtendedLifetime((token, second)) {}
  }

  @Test func aThrowingUpdateIsDeliveredAndOneThatChangedNothingComesWithTheNext() {
    let dispatcher = Dispatcher()
    let store = dispatcher.register(store: store)
    let token = observe(1)
    store.dispatch(.fail(1, 1), mode: .sync)
    store.dispatch(.silent(1, 2), mode: .sync)
    store.dispatch(.quiet(1, 3), mode: .sync)
    store.dispatch(.put(2, 2), mode: .sync)
    #expect(received.all == ["1: - → 1", "3: 1 → 3"])
    token.cancel()
  }

  /// A history reads hidden commits, too.
  ///
  /// Elements that can't be compared would count as changed.
  @Test(arguments: Way.all, [false, true])
  func areNotNotifiedOfOtherElementsAfterAHiddenCommit(way: Way, isAtomic: Bool) async {
    let dispatcher = Dispatcher()
    let yard = Store(identifier: "yard", model: Yard(), reducer: YardReducer())
    let store = dispatcher.register(store: yard.undoesInPlace(\.crates))
    let history = UndoHistory(of: store)
    let received = received
    let tokens = (1...3).map { id in
      store.observe(.element(\.crates, id)) { received.record("\(id): \($0.version)") }
    }
    for fill in [Fill(id: 1, isHidden: true), Fill(id: 4), Fill(id: 5)] {
      let options: DispatchOptions = isAtomic ? .atomic : []
      if way.sends {
        await store.send(fill, mode: way.mode, options: options)
      } else {
        await store.dispatch(fill, mode: way.mode, options: options).ended()
      }
    }
    #expect(received.all == ["1: 2"])
    withExtendedLifetime((tokens, history)) {}
  }

  @Test(arguments: ParcelPath.allCases)
  func anInjectedModelIsComparedWithWhatTheyKnow(path: ParcelPath) {
    let tokens = (1...3).map { observe($0, path) }
    store.updateModel { book in for id in 1...3 { book.put(id, id) } }
    let old = store.model
    store.updateModel { book in for id in 1...2 { book.put(id, nil) } }
    store.inject(model: old)
    store.updateModel { $0.put(2, 5) }
    #expect(
      received.all.sorted() == [
        "1: - → 1", "1: - → 2", "1: - → 3", "2: 1 → -", "2: 2 → -", "3: - → 1", "3: - → 2",
        "4: 2 → 5",
      ])
    withExtendedLifetime(tokens) {}
  }
}

/// An element that can't be compared.
private struct Crate: Sendable { var amount = 0 }

private struct Yard: Sendable {
  var crates = TrackedDictionary(uniqueKeysWithValues: (1...5).map { ($0, Crate()) })
}

private struct Fill: ActionType {
  let id: Int
  var isHidden = false
}

private final class YardReducer: Reducer<Yard, Fill> {
  override func reduce(into yard: inout Yard, action: Fill) { yard.crates[action.id]?.amount += 1 }

  override func shouldNotifyObservers(for action: Fill, in store: Store<Yard, Fill>) -> Bool {
    !action.isHidden
  }
}

/// An element that counts how often it is compared.
private struct Weight: Sendable, Equatable {
  var value: Int
  let compared: EventCount

  static func == (one: Weight, other: Weight) -> Bool {
    one.compared.add()
    return one.value == other.value
  }
}

private struct Weights: Sendable {
  var all = TrackedDictionary<Int, Weight>()
}
