import DispatchStore
import Testing

/// Where an observer finds a token that is made after it.
private final class TokenBox: Sendable {
  private let tokens = Recorder<ObserverToken>()

  func put(_ token: ObserverToken) { tokens.record(token) }
  func cancel() { for token in tokens.all { token.cancel() } }
}

@Suite(.timeLimit(.minutes(10)))
struct ObserverTokenTests {
  private let store = CounterStore.counter("s")
  private let received = Recorder<String>()

  private func observe(
    _ name: String, initial: Bool = false, _ body: @escaping @Sendable (UInt64) -> Void = { _ in }
  ) -> ObserverToken {
    let received = received
    return store.observe(.model, initial: initial) { change in
      received.record("\(name)\(change.version)")
      body(change.version)
    }
  }

  @Test func anObserverIsNotifiedUntilItsTokenIsCancelled() {
    let token = observe("a")
    store.updateModel { _ in }
    token.cancel()
    store.updateModel { _ in }
    token.cancel()
    #expect(received.all == ["a1"])
  }

  @Test func anObserverIsNotifiedUntilItsTokenIsReleased() {
    var token: ObserverToken? = observe("a")
    store.updateModel { _ in }
    withExtendedLifetime(token) {}
    token = nil
    store.updateModel { _ in }
    #expect(received.all == ["a1"])
  }

  @Test func whatAnObserverCapturesIsReleasedWithItsToken() {
    let released = Latch()
    var token: ObserverToken? = observeHolding(Mortal(released))
    store.updateModel { _ in }
    #expect(!released.isOpen)
    withExtendedLifetime(token) {}
    token = nil
    #expect(released.isOpen)
  }

  @Test(arguments: [false, true])
  func oneThatEndsInAnExclusiveSectionIsReleasedAtItsEnd(isOfAnotherStore: Bool) {
    let (released, other) = (Latch(), CounterStore.counter("other"))
    let token = observeHolding(Mortal(released))
    (isOfAnotherStore ? other : store).updateModel { _ in token.cancel() }
    #expect(released.isOpen)
  }

  private func observeHolding(_ signal: Mortal) -> ObserverToken {
    store.observe(.model) { _ in withExtendedLifetime(signal) {} }
  }

  @Test func anObserverThatUnsubscribesItselfAndOthersMidRoundSilencesOnlyThose() {
    let (own, other) = (TokenBox(), TokenBox())
    let first = observe("a") { _ in
      own.cancel()
      other.cancel()
    }
    own.put(first)
    let second = observe("b")
    let third = observe("c")
    other.put(third)
    let fourth = observe("d")
    store.updateModel { _ in }
    store.updateModel { _ in }
    #expect(received.all == ["a1", "b1", "d1", "b2", "d2"])
    withExtendedLifetime([second, fourth]) {}
  }

  @Test func anObserverRegisteredMidRoundIsNotifiedFromTheNextCommitOn() {
    let (store, received) = (store, received)
    let tokens = TokenBox()
    let first = observe("a") { version in
      guard version == 1 else { return }
      tokens.put(store.observe(.model) { received.record("new\($0.version)") })
    }
    let last = observe("z")
    store.updateModel { _ in }
    store.updateModel { _ in }
    #expect(received.all == ["a1", "z1", "a2", "z2", "new2"])
    withExtendedLifetime([first, last]) {}
  }

  @Test func oneRegisteredMidRoundIsNotNotifiedOfCommitsMadeBefore() async {
    let (store, received) = (store, received)
    let tokens = TokenBox()
    let first = observe("a") { version in
      guard version == 1 else { return }
      // Commit 2 is made, and its delivery is pending, before the observers are added.
      store.updateModel { $0.count = 2 }
      tokens.put(store.observe(.model) { received.record("new\($0.version)") })
      tokens.put(store.observe(.model, initial: true) { received.record("initial\($0.version)") })
      store.updateModel { $0.count = 3 }
    }
    store.updateModel { $0.count = 1 }
    #expect(received.all == ["a1", "a2", "initial2", "a3", "new3", "initial3"])
    first.cancel()
  }

  @Test func thePresentModelIsDeliveredOnlyWhereInitialIsTrue() {
    store.updateModel { $0.count = 7 }
    let plain = observe("plain")
    #expect(received.all.isEmpty)
    let changes = Recorder<Change<Counter, CounterAction>>()
    let token = store.observe(.model, initial: true) { changes.record($0) }
    #expect(changes.count == 1)
    #expect(changes.all[0].value.count == 7)
    #expect(changes.all[0].version == 1)
    #expect(changes.all[0].action == nil)
    #expect(changes.all[0].dispatchID == nil)
    #expect(received.all.isEmpty, "The others are not notified of it.")
    store.updateModel { $0.count = 8 }
    #expect(changes.all.map(\.version) == [1, 2])
    #expect(received.all == ["plain2"])
    withExtendedLifetime([plain, token]) {}
  }

  @Test func anObserverCancelledFromAnotherThreadIsNotCalledAfterwards() async {
    let store = store
    for _ in 0..<50 {
      let calls = Recorder<Int>()
      let token = store.observe(.model) { calls.record($0.value.count) }
      let reached = Recorder<Int>()
      await onOwnThreads(2) { thread in
        if thread == 0 {
          for _ in 0..<20 { store.updateModel { $0.count += 1 } }
        } else {
          token.cancel()
          // It is not notified of commits made from here on.
          let count = store.updateModel { model in
            model.count += 1
            return model.count
          }
          reached.record(count)
        }
      }
      #expect(calls.all == calls.all.sorted())
      #expect(Set(calls.all).count == calls.count)
      #expect(calls.all.allSatisfy { $0 < reached.all[0] })
    }
  }

  /// Where each cancellation looked at all observers, this would take a quarter of an hour.
  @Test func cancellingCostsTheSameHoweverManyObserversThereAre() {
    let (store, received) = (store, received)
    var tokens = (0..<40_000).map { _ in store.observe(.model) { _ in } }
    let last = observe("last")
    // In the order in which they were registered, in the other one, and from inside an exclusive section.
    for token in tokens[..<10_000] { token.cancel() }
    for token in tokens[10_000..<30_000].reversed() { token.cancel() }
    store.updateModel { [tokens] _ in for token in tokens[30_000...] { token.cancel() } }
    tokens = []
    store.updateModel { _ in }
    #expect(received.all == ["last1", "last2"])
    withExtendedLifetime(last) {}
  }

  @Test func aTokenDoesNotKeepTheModelOfAStoreThatIsGone() async {
    let released = Latch()
    var store: Store<Mortal, Ping>? = Store(model: Mortal(released), reducer: Reducer())
    let token = store?.observe(.model) { _ in }
    store = nil
    #expect(released.isOpen)
    token?.cancel()
  }

  @Test func anObserverThatHoldsItsTokenDoesNotKeepTheModel() async {
    let released = Latch()
    do {
      let store = Store<Mortal, Ping>(model: Mortal(released), reducer: Reducer())
      let box = TokenBox()
      box.put(store.observe(.model) { _ in box.cancel() })
    }
    #expect(released.isOpen)
  }
}
