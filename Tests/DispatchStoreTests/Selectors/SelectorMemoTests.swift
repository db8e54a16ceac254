import DispatchStore
import DispatchStoreTesting
import Testing

@Suite("What a store keeps of selectors", .timeLimit(.minutes(10)))
struct SelectorMemoTests {
  /// Counts when it is released.
  private struct Held: Sendable {
    let mortal: Mortal
    let number: Int
  }

  @Test func goesWithTheStore() {
    let count = Load.count(10_000)
    let deaths = EventCount(of: count)
    let held = StateSelector { (model: Int) in Held(mortal: Mortal(deaths), number: model) }
    let number = StateSelector.combine(held) { $0.number }
    for index in 0..<count {
      let store = Store<Int, Ping>(model: index, reducer: Reducer())
      #expect(store.select(number) == index)
    }
    #expect(deaths.count == count)
  }

  @Test func goesWithSelectorsThatManyThreadsMakeAndRelease() async {
    let store = Store<Int, Ping>(model: 1, reducer: Reducer())
    let count = Load.count(20_000)
    let deaths = EventCount(of: 4 * count - 64)
    await onOwnThreads(4) { thread in
      for index in 0..<count {
        let selector = StateSelector { (model: Int) in
          Held(mortal: Mortal(deaths), number: model + index)
        }
        #expect(store.select(selector).number == 1 + index)
      }
    }
    await deaths.full()
  }

  @Test func goesWithTheSelectorOnceOthersAreSelected() {
    let store = Store<Int, Ping>(model: 1, reducer: Reducer())
    let count = 1_000
    let deaths = EventCount(of: count)
    let kept = StateSelector { (model: Int) in model + 1 }
    #expect(store.select(kept) == 2)
    for index in 0..<count {
      let selector = StateSelector { (model: Int) in
        Held(mortal: Mortal(deaths), number: model + index)
      }
      #expect(store.select(selector).number == 1 + index)
    }
    #expect(deaths.count >= count - 16)
    #expect(store.select(kept) == 2)
    #expect(store.computationCount(of: kept) == 1)
  }

  @Test func isOneForEachStore() {
    let selector = StateSelector.combine(StateSelector { (model: Int) in model }) { $0 * 10 }
    let stores = (0..<100).map { Store<Int, Ping>(model: $0, reducer: Reducer()) }
    for _ in 0..<2 {
      for (index, store) in stores.enumerated() { #expect(store.select(selector) == index * 10) }
    }
    #expect(stores.allSatisfy { $0.computationCount(of: selector) == 1 })
  }

  @Test func isFoundAmongManySelectors() {
    let store = Store<Int, Ping>(model: 1, reducer: Reducer())
    let selectors = (0..<1_000).map { index in StateSelector { (model: Int) in model + index } }
    for _ in 0..<3 {
      for (index, selector) in selectors.enumerated() {
        #expect(store.select(selector) == 1 + index)
      }
    }
    #expect(selectors.allSatisfy { store.computationCount(of: $0) == 1 })
  }

  @Test func isNotReplacedByWhatAThreadHasFoundOutLater() async {
    let (isComputing, mayEnd) = (Latch(), Latch())
    let store = Store<Int, Ping>(model: 1, reducer: Reducer())
    let root = StateSelector { (model: Int) in model }
    let slow = StateSelector.combine(root) { value in
      if value == 1 {
        isComputing.open()
        mayEnd.wait()
      }
      return value * 10
    }
    async let late = onOwnThread { store.select(slow) }
    await isComputing.opened()
    store.updateModel { $0 = 2 }
    #expect(store.select(slow) == 20)
    mayEnd.open()
    #expect(await late == 10)
    #expect(store.select(slow) == 20)
    #expect(store.computationCount(of: slow) == 2)
  }
}
