import CombineSupport
import DispatchStore
import Foundation
import OpenCombine
import SwiftUIStandIn
import Testing

private struct Tally: ModelType, Equatable {
  var count = 0
  var name = ""
}

private enum TallyAction: ActionType {
  case add(Int)
  case rename(String)
}

private final class TallyReducer: Reducer<Tally, TallyAction> {
  override func reduce(into model: inout Tally, action: TallyAction) {
    switch action {
    case .add(let amount): model.count += amount
    case .rename(let name): model.name = name
    }
  }
}

private func makeStore() -> Store<Tally, TallyAction> { Store(reducer: TallyReducer()) }

/// Values that a subscriber got.
private final class Values<Value: Sendable>: @unchecked Sendable {  // because `lock` guards them
  private let lock = NSLock()
  private var values: [Value] = []

  var all: [Value] { lock.withLock { values } }

  func append(_ value: Value) {
    lock.withLock { values.append(value) }
  }
}

struct StorePublisherTests {
  @Test func publishesThePresentModelAndThenEachOne() {
    let (store, counts) = (makeStore(), Values<Int>())
    store.updateModel { $0.count = 1 }
    let subscription = store.publisher.sink { counts.append($0.count) }
    for count in 2...4 { store.updateModel { $0.count = count } }
    #expect(counts.all == [1, 2, 3, 4])
    subscription.cancel()
    store.updateModel { $0.count = 5 }
    #expect(counts.all == [1, 2, 3, 4])
  }

  @Test func publishesAPartForTheOperatorsOfCombine() {
    let (store, names) = (makeStore(), Values<String>())
    let subscription = store.publisher(of: .part(\.name)).removeDuplicates().sink {
      names.append($0)
    }
    store.updateModel { $0.name = "a" }
    store.updateModel { $0.count = 1 }
    store.updateModel { $0.name = "b" }
    #expect(names.all == ["", "a", "b"])
    withExtendedLifetime(subscription) {}
  }

  @Test func aSubscriberWithoutDemandGetsTheNewestOnceItRequestsMore() {
    let (store, probe) = (makeStore(), DemandProbe())
    store.publisher.subscribe(probe)
    store.updateModel { $0.count = 1 }
    probe.request(1)
    #expect(probe.counts == [1])
    for count in 2...5 { store.updateModel { $0.count = count } }
    #expect(probe.counts == [1])
    probe.request(2)
    #expect(probe.counts == [1, 5])
    store.updateModel { $0.count = 6 }
    store.updateModel { $0.count = 7 }
    #expect(probe.counts == [1, 5, 6])
    probe.cancel()
  }

  @Test func valuesOfContendingThreadsComeInOrderOneAtATime() {
    let (store, counts) = (makeStore(), Values<Int>())
    let subscription = store.publisher(of: .part(\.count)).sink { counts.append($0) }
    DispatchQueue.concurrentPerform(iterations: 4) { _ in
      for _ in 0..<500 { store.updateModel { $0.count += 1 } }
    }
    #expect(counts.all == Array(0...2_000))
    withExtendedLifetime(subscription) {}
  }

  @Test func theSubscriptionDoesNotKeepTheStore() {
    weak var gone: Store<Tally, TallyAction>?
    let subscription: AnyCancellable
    do {
      let store = makeStore()
      gone = store
      subscription = store.publisher.sink { _ in }
    }
    #expect(gone == nil)
    subscription.cancel()
  }

  @Test func aCancelledSubscriptionKeepsNoModel() {
    let store = Store<Held, HandledAction>(identifier: "held", model: Held()) {}
    let (probe, released) = (OneValueProbe<Held>(), Values<Int>())
    store.publisher.subscribe(probe)
    store.updateModel { $0.mark = Mark(released) }
    probe.subscription?.cancel()
    #expect(released.all.isEmpty)
    store.updateModel { $0.mark = nil }
    #expect(released.all == [1])
    withExtendedLifetime(probe) {}
  }

  @Test func anObservableObjectChangesOnTheMainQueue() async {
    let store = makeStore()
    let (changes, continuation) = AsyncStream<Bool>.makeStream()
    let subscription = store.objectWillChange.sink { continuation.yield(true) }
    store.updateModel { $0.count = 1 }
    for await _ in changes { break }
    #expect(store.model.count == 1)
    withExtendedLifetime(subscription) {}
  }

  @MainActor
  @Test func aBindingReadsTheModelAndSendsActions() async {
    let dispatcher = Dispatcher()
    let store = dispatcher.register(store: makeStore())
    let name = store.binding(\.name, send: TallyAction.rename)
    await name.write("new")
    #expect(await name.read() == "new")
    let count = store.binding(get: \.count, send: { TallyAction.add($0) })
    await count.write(3)
    #expect(await count.read() == 3)
  }

  @MainActor
  @Test func actionsOfABindingHaveItsCallSite() async {
    let (dispatcher, files) = (Dispatcher(), Values<String>())
    dispatcher.register(
      .before(TallyAction.self) { _, dispatch in
        files.append(dispatch.callSite.fileID)
        return .pass
      })
    let store = dispatcher.register(store: makeStore())
    await store.binding(\.name, send: TallyAction.rename).write("new")
    await store.binding(get: \.count, send: { TallyAction.add($0) }).write(3)
    #expect(files.all == [#fileID, #fileID])
  }
}

private struct Held: ModelType {
  var mark: Mark?
}

/// Notes its release.
private final class Mark: Sendable {
  private let released: Values<Int>

  init(_ released: Values<Int>) {
    self.released = released
  }

  deinit {
    released.append(1)
  }
}

/// A subscriber that requests one value.
private final class OneValueProbe<Input>: Subscriber {
  typealias Failure = Never
  private(set) var subscription: (any Subscription)?

  func receive(subscription: any Subscription) {
    self.subscription = subscription
    subscription.request(.max(1))
  }

  func receive(_ input: Input) -> Subscribers.Demand { .none }

  func receive(completion: Subscribers.Completion<Never>) {}
}

/// A subscriber that requests by hand.
private final class DemandProbe: Subscriber, @unchecked Sendable {
  // because one thread uses it
  typealias Input = Tally
  typealias Failure = Never
  private var subscription: (any Subscription)?
  private(set) var counts: [Int] = []

  func receive(subscription: any Subscription) {
    self.subscription = subscription
  }

  func receive(_ input: Tally) -> Subscribers.Demand {
    counts.append(input.count)
    return .none
  }

  func receive(completion: Subscribers.Completion<Never>) {}

  func request(_ count: Int) {
    subscription?.request(.max(count))
  }

  func cancel() {
    subscription?.cancel()
  }
}
