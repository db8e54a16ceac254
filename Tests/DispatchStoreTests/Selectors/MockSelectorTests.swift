import DispatchStore
import DispatchStoreTesting
import Testing

@Suite("An overridden selector", .timeLimit(.minutes(10)))
struct MockSelectorTests {
  private let mock = MockStore<PricedCart, PricedAction>(
    model: PricedCart(items: [PricedItem(name: "pen", price: 200)]))
  private let selectors = CountedSelectors()

  @Test func hasTheGivenValueWhateverTheModelIs() {
    #expect(mock.store.select(selectors.total) == 200)
    mock.override(selectors.total, with: 7)
    #expect(mock.store.select(selectors.total) == 7)
    mock.set(PricedCart())
    #expect(mock.store.select(selectors.total) == 7)
    mock.override(selectors.total, with: 8)
    #expect(mock.store.select(selectors.total) == 8)
    #expect(selectors.calls.all == ["subtotal", "total"])
  }

  @Test func isAnInputOfThoseThatAreCombinedFromIt() {
    #expect(mock.store.select(selectors.label) == "200 in all")
    mock.override(selectors.subtotal, with: 1_000)
    #expect(mock.store.select(selectors.label) == "1000 in all")
    #expect(mock.store.select(selectors.total) == 1_000)
    mock.resetSelectors()
    #expect(mock.store.select(selectors.label) == "200 in all")
  }

  @Test func dependsOnTheModelAgainOnceItIsReset() {
    mock.override(selectors.total, with: 7)
    mock.override(selectors.items, with: [])
    #expect(mock.store.select(selectors.total) == 7)
    mock.resetSelectors()
    #expect(mock.store.select(selectors.items).count == 1)
    #expect(mock.store.select(selectors.total) == 200)
    mock.resetSelectors()
    #expect(mock.store.select(selectors.total) == 200)
  }

  @Test func isNotSeenByStreams() async {
    var totals = mock.store.stream(.select(selectors.total)).makeAsyncIterator()
    mock.override(selectors.subtotal, with: 1_000)
    for price in [30, 40] {
      mock.set(PricedCart(items: [PricedItem(name: "pot", price: price)]))
      #expect(mock.store.select(selectors.total) == 1_000)
      #expect(await totals.next()?.value == price)
    }
    mock.resetSelectors()
    mock.set(PricedCart(items: [PricedItem(name: "tea", price: 3)]))
    let last = await totals.next()
    #expect(last?.old == 40 && last?.value == 3)
  }

  @Test func isThatOfOneStoreAlone() {
    let other = PricedStore.priced()
    mock.override(selectors.total, with: 7)
    #expect(other.select(selectors.total) == 0)
    #expect(mock.store.select(selectors.total) == 7)
  }

  @Test func isNotHiddenByWhatAThreadWasComputingMeanwhile() async {
    let (isComputing, mayEnd) = (Latch(), Latch())
    let slow = StateSelector.combine(selectors.items) { items in
      isComputing.open()
      mayEnd.wait()
      return items.count
    }
    let label = StateSelector.combine(slow) { "\($0)" }
    let store = mock.store
    async let late = onOwnThread { store.select(label) }
    await isComputing.opened()
    mock.override(slow, with: 50)
    #expect(store.select(label) == "50")
    mayEnd.open()
    #expect(await late == "1")
    #expect(store.select(label) == "50")
    mock.resetSelectors()
    #expect(store.select(label) == "1")
  }
}
