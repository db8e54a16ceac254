import Dispatch
import DispatchStore
import Testing

@Suite("An observer of a part", .timeLimit(.minutes(10)))
struct PartObserverTests {
  private let store = PricedStore.priced(PricedCart(items: [PricedItem(name: "pen", price: 200)]))
  private let selectors = CountedSelectors()
  private let queue = DispatchQueue(label: "parts")

  enum Place: CaseIterable, Sendable {
    case inline, queue, main
  }

  private func observe<Value>(
    _ selector: StateSelector<PricedCart, Value>, at place: Place, initial: Bool = false,
    _ body: @escaping @Sendable (Change<Value, PricedAction>) -> Void
  ) -> ObserverToken {
    switch place {
    case .inline: store.observe(.select(selector), initial: initial, body)
    case .queue: store.observe(.select(selector), initial: initial, on: .queue(queue), body)
    case .main: store.observe(.select(selector), initial: initial, on: .main, body)
    }
  }

  @Test(arguments: Place.allCases)
  func isCalledOnlyWhereTheValueDiffers(place: Place) async {
    let received = Recorder<[Int?]>()
    let token = observe(selectors.discount, at: place) { received.record([$0.old, $0.value]) }
    for discount in [0, 5, 5, 5, 7, 0] { store.updateModel { $0.discount = discount } }
    store.updateModel { $0.note = "other" }
    store.updateModel { $0.discount = 9 }
    #expect(await received.first(4) == [[0, 5], [5, 7], [7, 0], [0, 9]])
    withExtendedLifetime(token) {}
  }

  @Test(arguments: Place.allCases)
  func ofASelectorComparesItsValueAndComputesWhatHasChanged(place: Place) async {
    let received = Recorder<String>()
    let token = observe(selectors.label, at: place) {
      received.record("\($0.old ?? "nothing") → \($0.value) (\($0.version))")
    }
    store.updateModel { $0.note = "other" }
    store.updateModel { $0.items[0] = PricedItem(name: "ink", price: 200) }
    store.updateModel { $0.discount = 50 }
    #expect(await received.first(1) == ["200 in all → 100 in all (3)"])
    #expect(
      selectors.calls.all == ["subtotal", "total", "label", "subtotal", "total", "label"])
    withExtendedLifetime(token) {}
  }

  @Test(arguments: Place.allCases)
  func getsThePresentValueFirstOnlyWhereInitialIsTrue(place: Place) async {
    store.updateModel { $0.discount = 3 }
    let (received, others) = (Recorder<[Int?]>(), Recorder<Int>())
    let token = observe(selectors.discount, at: place, initial: true) {
      received.record([$0.old, $0.value, Int($0.version)])
    }
    let other = observe(selectors.discount, at: place) { others.record($0.value) }
    store.updateModel { $0.discount = 3 }
    store.updateModel { $0.discount = 4 }
    #expect(await received.first(2) == [[nil, 3, 1], [3, 4, 3]])
    #expect(await others.first(1) == [4])
    withExtendedLifetime((token, other)) {}
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func getsActionVersionAndTransaction(mode: Dispatcher.Mode) async {
    let dispatcher = Dispatcher(name: "cart")
    dispatcher.register(store: store)
    let received = Recorder<Change<Int, PricedAction>>()
    let token = store.observe(.part(\.discount)) { received.record($0) }
    let result = await dispatcher.dispatch(action: PricedAction.discount(20), mode: mode).result
    let change = received.all.first
    #expect(change?.action == .discount(20))
    #expect(change?.version == 1)
    #expect(change?.dispatchID == result.dispatchID)
    withExtendedLifetime(token) {}
  }

  @Test func ofAKeyPathMayBeOnAQueueOrTheMainQueue() async {
    let received = Recorder<String>()
    let tokens = [
      store.observe(.part(\.note), on: .queue(queue)) { received.record("queue \($0.value)") },
      store.observe(.part(\.note), on: .main) { received.record("main \($0.value)") },
    ]
    store.updateModel { $0.note = "a" }
    #expect(await received.first(2).sorted() == ["main a", "queue a"])
    withExtendedLifetime(tokens) {}
  }

  @Test func getsWhatWasKeptFromObserversWithTheNextChange() {
    let dispatcher = Dispatcher(name: "cart")
    dispatcher.register(store: store)
    let received = Recorder<String>()
    let token = store.observe(.part(\.note)) { received.record("\($0.old!)→\($0.value)") }
    for note in ["a", "hidden", "a", "hidden", "b"] {
      dispatcher.dispatch(action: PricedAction.note(note), mode: .sync)
    }
    #expect(received.all == ["→a", "a→b"])
    withExtendedLifetime(token) {}
  }

  @Test(arguments: Place.allCases)
  func getsEachChangeInCommitOrderAmongContendingThreads(place: Place) async {
    let rounds = Load.count(2_000)
    let store = Store<Int, Ping>(model: 0, reducer: Reducer())
    let half = StateSelector { (model: Int) in model / 2 }
    let received = Recorder<[Int]>()
    let body: @Sendable (Change<Int, Ping>) -> Void = { change in
      received.record([change.old!, change.value, Int(change.version)])
    }
    let token =
      switch place {
      case .inline: store.observe(.select(half), body)
      case .queue: store.observe(.select(half), on: .queue(queue), body)
      case .main: store.observe(.select(half), on: .main, body)
      }
    await onOwnThreads(4) { _ in
      for _ in 0..<rounds { store.updateModel { $0 += 1 } }
    }
    let expected = (1...(rounds * 2)).map { [$0 - 1, $0, $0 * 2] }
    #expect(await received.first(rounds * 2) == expected)
    withExtendedLifetime(token) {}
  }

  @Test(arguments: Place.allCases)
  func addedWhileOthersCommitMissesNoChangeAfterItsFirstValue(place: Place) async {
    let rounds = Load.count(1_000)
    let store = Store<Int, Ping>(model: 0, reducer: Reducer())
    let root = StateSelector { (model: Int) in model }
    let histories = (0..<20).map { _ in Recorder<[Int?]>() }
    let tokens = Recorder<ObserverToken>()
    await onOwnThreads(2) { thread in
      if thread == 0 {
        for _ in 0..<rounds { store.updateModel { $0 += 1 } }
      } else {
        for history in histories {
          let body: @Sendable (Change<Int, Ping>) -> Void = {
            history.record([$0.old, $0.value])
          }
          switch place {
          case .inline: tokens.record(store.observe(.select(root), initial: true, body))
          case .queue:
            tokens.record(store.observe(.select(root), initial: true, on: .queue(queue), body))
          case .main: tokens.record(store.observe(.select(root), initial: true, on: .main, body))
          }
        }
      }
    }
    store.updateModel { $0 = -1 }
    for history in histories {
      let start = await history.first(1)[0][1]!
      let all = await history.first(rounds - start + 2)
      #expect(all.first == [nil, start])
      #expect(all.last == [rounds, -1])
      #expect(zip(all, all.dropFirst()).allSatisfy { $0[1] == $1[0] })
    }
    withExtendedLifetime(tokens) {}
  }

  @Test func keepsNothingOfTheModelForItsQueue() async {
    let copies = EventCount(of: 1)
    let store = Store<[Mortal?], Ping>(model: [Mortal(copies)], reducer: Reducer())
    let blocked = Latch()
    queue.async { blocked.wait() }
    let received = Recorder<Int>()
    let token = store.observe(.part(\.count), on: .queue(queue)) { received.record($0.value) }
    store.updateModel { $0.append(nil) }
    store.updateModel { $0[0] = nil }
    // The model was the only one to refer to it, though the queue has not come to the change.
    #expect(copies.count == 1)
    blocked.open()
    #expect(await received.first(1) == [2])
    withExtendedLifetime(token) {}
  }

  @Test(arguments: Place.allCases)
  func isNotCalledOnceItIsCancelled(place: Place) async {
    let received = Recorder<Int>()
    let token = observe(selectors.discount, at: place) { received.record($0.value) }
    let other = observe(selectors.discount, at: place) { received.record(-$0.value) }
    token.cancel()
    store.updateModel { $0.discount = 4 }
    #expect(await received.first(1) == [-4])
    withExtendedLifetime(other) {}
  }

  @Test func isNotCalledWhereItIsCancelledWhileItsValueIsComputed() {
    let tokens = Recorder<ObserverToken>()
    let count = StateSelector.combine(selectors.items) { items in
      if items.count == 2 { tokens.all[0].cancel() }
      return items.count
    }
    let received = Recorder<Int>()
    tokens.record(store.observe(.select(count)) { received.record($0.value) })
    store.updateModel { $0.items = [] }
    store.updateModel {
      $0.items = [PricedItem(name: "a", price: 1), PricedItem(name: "b", price: 2)]
    }
    #expect(received.all == [0])
  }

  @Test func mayChangeItsStoreAndIsCalledWithThatNext() {
    let received = Recorder<[Int?]>()
    let store = store
    let token = store.observe(.part(\.discount)) { change in
      received.record([change.old, change.value])
      if change.value < 3 { store.updateModel { $0.discount += 1 } }
    }
    store.updateModel { $0.discount = 1 }
    #expect(received.all == [[0, 1], [1, 2], [2, 3]])
    withExtendedLifetime(token) {}
  }

  @Test func isReleasedWithItsToken() {
    let deaths = EventCount(of: 1)
    var token: ObserverToken?
    do {
      let mortal = Mortal(deaths)
      token = store.observe(.part(\.discount)) { _ in withExtendedLifetime(mortal) {} }
    }
    #expect(deaths.count == 0)
    withExtendedLifetime(token) {}
    token = nil
    #expect(deaths.count == 1)
  }
}
