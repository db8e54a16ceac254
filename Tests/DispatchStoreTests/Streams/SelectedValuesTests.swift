import DispatchStore
import DispatchStoreTesting
import Testing

@Suite("Streams of a selector's values", .timeLimit(.minutes(10)))
struct SelectedValuesTests {
  private let store = PricedStore.priced()
  private let total = StateSelector.combine(StateSelector(\PricedCart.items)) { items in
    items.reduce(0) { $0 + $1.price }
  }

  @Test func beginWithThePresentOneAndLeaveOutEqualOnes() async {
    var values = store.stream(.select(total), initial: true).map(\.value).makeAsyncIterator()
    #expect(await values.next() == 0)
    store.updateModel { $0.note = "elsewhere" }
    store.updateModel { $0.items.append(PricedItem(name: "free", price: 0)) }
    store.updateModel { $0.items.append(PricedItem(name: "tea", price: 3)) }
    #expect(await values.next() == 3)
    store.updateModel { $0.discount = 1 }
    store.updateModel { $0.items.append(PricedItem(name: "pot", price: 30)) }
    #expect(await values.next() == 33)
  }

  @Test func areComputedOnceForAllConsumers() async {
    var (one, other) = (
      store.stream(.select(total), initial: true).makeAsyncIterator(),
      store.stream(.select(total), initial: true).makeAsyncIterator()
    )
    for first in [await one.next(), await other.next()] { #expect(first?.value == 0) }
    for number in 1...5 {
      store.updateModel { $0.items.append(PricedItem(name: "\(number)", price: 1)) }
      for next in [await one.next(), await other.next()] {
        #expect(next?.value == number && next?.old == number - 1)
      }
    }
    #expect(store.computationCount(of: total) == 6)
  }

  /// Two consumers have taken the first value, and one commit or more changes the discount, and others the note.
  @Test(arguments: [[10], [10, 20]])
  func areComputedOnlyFromWhatHasChangedWhateverElseHas(discounts: [Int]) async {
    let selectors = CountedSelectors()
    store.updateModel { $0.items.append(PricedItem(name: "pen", price: 200)) }
    var (one, other) = (
      store.stream(.select(selectors.total), initial: true, buffering: .unbounded)
        .makeAsyncIterator(),
      store.stream(.select(selectors.total), initial: true, buffering: .unbounded)
        .makeAsyncIterator()
    )
    for first in [await one.next(), await other.next()] { #expect(first?.value == 200) }
    for discount in discounts {
      store.updateModel { $0.discount = discount }
      store.updateModel { $0.note += "x" }
    }
    for discount in discounts {
      for next in [await one.next(), await other.next()] {
        #expect(next?.value == 2 * (100 - discount))
      }
    }
    #expect(selectors.calls.all.filter { $0 == "subtotal" }.count == 1)
    // A consumer that lags computes for itself.
    let (lagging, shared) = (2 * (discounts.count - 1), 2)
    #expect(selectors.calls.all.filter { $0 == "total" }.count == lagging + shared)
  }

  /// It is no change for a consumer that has caught up, nor for one that lags.
  @Test(arguments: [true, false])
  func leaveOutANaNThatStays(isCaughtUp: Bool) async {
    let mean = StateSelector.combine(
      StateSelector(\PricedCart.items), StateSelector(\PricedCart.discount)
    ) { items, _ in
      Double(items.reduce(0) { $0 + $1.price }) / Double(items.count)
    }
    let (seen, values) = (Recorder<Double>(), store.stream(.select(mean), initial: true))
    let consumer = Task { for await change in values { seen.record(change.value) } }
    _ = await seen.first(1)
    store.updateModel { $0.discount = 1 }
    if isCaughtUp { await store.streamsCaughtUp() }
    store.updateModel { $0.items.append(PricedItem(name: "tea", price: 3)) }
    #expect(await seen.first(2)[1] == 3)
    consumer.cancel()
  }

  @Test func endWithTheStore() async {
    var store: PricedStore? = .priced()
    var values = store!.stream(.select(total), initial: true).map(\.value).makeAsyncIterator()
    #expect(await values.next() == 0)
    store = nil
    #expect(await values.next() == nil)
  }
}
