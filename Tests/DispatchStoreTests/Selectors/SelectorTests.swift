import DispatchStore
import DispatchStoreTesting
import Testing

@Suite("A selector", .timeLimit(.minutes(10)))
struct SelectorTests {
  private let store = PricedStore.priced(PricedCart(items: [PricedItem(name: "pen", price: 200)]))
  private let selectors = CountedSelectors()

  @Test func isComputedOnceForAModelThatStays() {
    for _ in 0..<3 { #expect(store.select(selectors.label) == "200 in all") }
    #expect(selectors.calls.all == ["subtotal", "total", "label"])
    #expect(store.select(selectors.total) == 200)
    #expect(selectors.calls.count == 3)
  }

  @Test func ofManyItemsIsNotComputedByAChangeElsewhere() {
    let items = (1...100_000).map { PricedItem(name: "\($0)", price: $0) }
    let store = PricedStore.priced(PricedCart(items: items))
    let sum = store.select(selectors.subtotal)
    for number in 1...10 {
      store.updateModel { $0.note = "\(number)" }
      #expect(store.select(selectors.subtotal) == sum)
    }
    #expect(store.computationCount(of: selectors.subtotal) == 1)
    #expect(store.computationCount(of: selectors.items) == 11)
    store.updateModel { $0.items[5].price += 1 }
    #expect(store.select(selectors.subtotal) == sum + 1)
    #expect(store.computationCount(of: selectors.subtotal) == 2)
  }

  @Test func ofAChainComputesOnlyWhatHasChanged() {
    #expect(store.select(selectors.label) == "200 in all")
    store.updateModel { $0.discount = 10 }
    #expect(store.select(selectors.label) == "180 in all")
    #expect(selectors.calls.all == ["subtotal", "total", "label", "total", "label"])
  }

  @Test func isNotComputedWhereItsInputIsEqualAgain() {
    #expect(store.select(selectors.label) == "200 in all")
    store.updateModel {
      $0.items = [PricedItem(name: "ink", price: 150), PricedItem(name: "cap", price: 50)]
    }
    #expect(store.select(selectors.label) == "200 in all")
    #expect(selectors.calls.all == ["subtotal", "total", "label", "subtotal"])
    store.updateModel { $0.items = Array($0.items.reversed().reversed()) }
    #expect(store.select(selectors.label) == "200 in all")
    #expect(selectors.calls.count == 4)
  }

  @Test(arguments: [false, true])
  func isComputedForAnInputThatIsAsBeforeOnlyIfAnotherOneHasReadItInBetween(isRead: Bool) {
    let own = StateSelector.combine(selectors.discount) { $0 + 1 }
    let other = StateSelector.combine(selectors.discount) { -$0 }
    #expect(store.select(own) == 1)
    store.updateModel { $0.discount = 10 }
    if isRead { #expect(store.select(other) == -10) }
    store.updateModel { $0.discount = 0 }
    #expect(store.select(own) == 1)
    #expect(store.computationCount(of: own) == (isRead ? 2 : 1))
  }

  @Test func neverServesTheOldValueForANewModel() {
    for price in 1...100 {
      store.updateModel { $0.items[0].price = price }
      #expect(store.select(selectors.total) == price)
      #expect(store.select(selectors.label) == "\(price) in all")
    }
    store.inject(model: PricedCart())
    #expect(store.select(selectors.label) == "0 in all")
  }

  @Test func thatIsMadeWhereAnotherOneWasIsComputed() {
    for number in 1...1_000 {
      let selector = StateSelector { (cart: PricedCart) in cart.items.count + number }
      #expect(store.select(selector) == 1 + number)
    }
  }

  @Test func ofAValueThatIsNotEquatableIsComputedForEachCommit() {
    let opaque = StateSelector(\PricedCart.stamp.opaque)
    let number = StateSelector.combine(opaque) { $0.number }
    let text = StateSelector.combine(number) { "\($0)" }
    #expect(store.select(text) == "0")
    store.updateModel { $0.note = "other" }
    #expect(store.select(text) == "0")
    #expect(store.computationCount(of: number) == 2)
    #expect(store.computationCount(of: text) == 1)
    store.updateModel { $0.stamp.opaque.number = 7 }
    #expect(store.select(text) == "7")
  }

  @Test func isComparedByTheEqualityOfItsType() {
    let stamp = StateSelector(\PricedCart.stamp)
    let number = StateSelector.combine(stamp) { $0.opaque.number }
    #expect(store.select(number) == 0)
    store.updateModel { $0.stamp = PricedCart.Unequal() }
    #expect(store.select(number) == 0)
    #expect(store.computationCount(of: number) == 1)
  }

  @Test func isEvaluatedOnceHoweverManyAreCombinedFromIt() {
    let calls = Recorder<Int>()
    let root = StateSelector { (cart: PricedCart) in
      calls.record(0)
      return cart.items.count
    }
    var selector: StateSelector<PricedCart, Int> = root
    for depth in 1...20 {
      selector = StateSelector.combine(selector, selector) { first, second in
        calls.record(depth)
        return first + second
      }
    }
    #expect(store.select(selector) == 1 << 20)
    #expect(calls.all == Array(0...20))
    #expect(selector(PricedCart()) == 0)
    #expect(calls.count == 42)
  }

  @Test func isCombinedFromAnyNumberOfOthers() {
    let price = StateSelector { (cart: PricedCart) in cart.items[0].price }
    let all = StateSelector.combine(
      StateSelector(\PricedCart.note), price, selectors.discount, selectors.label,
      selectors.subtotal
    ) { note, price, discount, label, subtotal in
      "\(note) \(price) \(discount) \(label) \(subtotal)"
    }
    store.updateModel { $0.note = "gift" }
    #expect(store.select(all) == "gift 200 0 200 in all 200")
    #expect(all.projector("a", 1, 2, "b", 3) == "a 1 2 b 3")
  }

  @Test func hasAProjectorThatTestsCall() {
    #expect(selectors.total.projector(1_000, 25) == 750)
    #expect(selectors.calls.all == ["total"])
  }

  @Test func isCalledWithAPlainModel() {
    #expect(
      selectors.label(PricedCart(items: [PricedItem(name: "x", price: 50)], discount: 50))
        == "25 in all")
    #expect(selectors.items(PricedCart()).isEmpty)
    store.updateModel { cart in
      #expect(selectors.total(cart) == 200)
    }
  }

  @Test func readsAllOfItsInputsFromOneVersion() async {
    let first = StateSelector { (pair: [Int]) in pair[0] }
    let second = StateSelector { (pair: [Int]) in pair[1] }
    let difference = StateSelector.combine(first, second) { $0 - $1 }
    let store = Store<[Int], Ping>(model: [0, 0], reducer: Reducer())
    let rounds = Load.count(20_000)
    let failures = Recorder<Int>()
    await onOwnThreads(4) { thread in
      for round in 1...rounds {
        if thread == 0 {
          store.updateModel { pair in
            pair[0] = round
            pair[1] = round
          }
        } else if store.select(difference) != 0 {
          failures.record(round)
        }
      }
    }
    #expect(failures.count == 0)
    #expect(store.select(first) == rounds)
  }

  @Test func ofManyThreadsIsThatOfACommitSinceItsCall() async {
    let double = StateSelector.combine(StateSelector { (model: Int) in model }) { $0 * 2 }
    let store = Store<Int, Ping>(model: 0, reducer: Reducer())
    let failures = Recorder<Int>()
    let rounds = Load.count(10_000)
    await onOwnThreads(4) { thread in
      for _ in 1...rounds {
        if thread == 0 { store.updateModel { $0 += 1 } }
        let before = store.model
        let value = store.select(double)
        if value < before * 2 || value > store.model * 2 { failures.record(value) }
      }
    }
    #expect(failures.count == 0)
  }

  @Test func holdsNoLockInItsProjector() {
    let store = store
    let other = StateSelector.combine(selectors.items) { items in
      // From inside a lock, this would stop the program.
      store.updateModel { $0.note = "written by the projector" }
      return items.count + store.select(StateSelector(\PricedCart.note)).count
    }
    #expect(store.select(other) == 25)
  }

  @Test func mayDispatchWhereItReadsTheModelAndThatIsAcceptedAfterwards() async {
    let dispatcher = Dispatcher(name: "selecting")
    dispatcher.register(store: store)
    let handles = Recorder<DispatchHandle>()
    let selector = StateSelector { (cart: PricedCart) in
      handles.record(dispatcher.dispatch(action: PricedAction.discount(5), mode: .serial))
      return cart.items.count
    }
    #expect(store.select(selector) == 1)
    #expect(await handles.all[0].result.isSuccess)
    #expect(store.select(selectors.discount) == 5)
  }
}
