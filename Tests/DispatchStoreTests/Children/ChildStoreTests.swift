import DispatchStore
import Testing

@Suite("A child store", .timeLimit(.minutes(10)))
struct ChildStoreTests {
  private let shop = ShopStore.shop()

  @Test func readsWhatItsStoreCommits() {
    let cart = shop.child(\.cart)
    shop.updateModel { $0.cart.items = ["tea"] }
    #expect(cart.model.items == ["tea"])
    #expect(cart.withModel { $0.items.count } == 1)
  }

  @Test func commitsToItsStore() {
    let cart = shop.child(\.cart)
    #expect(
      cart.updateModel {
        $0.items.append("tea"); return $0.items.count
      } == 1)
    #expect(shop.model.cart.items == ["tea"])
  }

  @Test func hasTheVersionAndTheNameOfItsStore() {
    let (cart, visits) = (shop.child(\.cart), shop.child(\.visits))
    cart.updateModel { $0.items = ["tea"] }
    visits.updateModel { $0 += 1 }
    shop.updateModel { $0.visits += 1 }
    #expect([cart.version, visits.version, shop.version] == [3, 3, 3])
    #expect(cart.identifier == "shop")
  }

  @Test func ofAChildReachesTheSameModel() {
    let city = shop.child(\.cart).child(\.address).child(\.city)
    city.updateModel { $0 = "Ghent" }
    #expect(shop.model.cart.address.city == "Ghent")
    shop.updateModel { $0.cart.address.city = "Bruges" }
    #expect(city.model == "Bruges")
  }

  @Test func ofAComputedOrObservedPartCallsItsAccessors() {
    let store = Store<Gauge, Ping>(model: Gauge(), reducer: Reducer())
    let half = store.child(\.half)
    half.child(\.value).updateModel { $0 = 4 }
    #expect(store.model.level == 8)
    store.child(\.level).updateModel { $0 += 1 }
    #expect(half.child(\.value).model == 4)
    #expect(store.model.history == [8, 9])
  }

  private struct Gauge {
    struct Half { var value = 0 }
    var history: [Int] = []
    var level = 0 { didSet { history.append(level) } }
    var half: Half {
      get { Half(value: level / 2) }
      set { level = newValue.value * 2 }
    }
  }

  @Test func mayBeTheWholeStore() {
    let whole = shop.child(\.self)
    whole.updateModel { $0.visits = 5 }
    #expect(shop.model.visits == 5)
    #expect(whole.model == shop.model)
    #expect(whole.asOptionalChild.model == shop.model)
  }

  @Test func commitsWhatItsClosureChangedBeforeItThrew() {
    let cart = shop.child(\.cart)
    #expect(throws: ShopFailure()) {
      try cart.updateModel { cart throws(ShopFailure) in
        cart.items = ["tea"]
        throw ShopFailure()
      }
    }
    #expect(throws: ShopFailure()) {
      try cart.withModel { _ throws(ShopFailure) in throw ShopFailure() }
    }
    #expect(shop.model.cart.items == ["tea"])
    #expect(shop.version == 1)
  }

  @Test func changesItsPartInPlace() {
    shop.updateModel { shop in
      shop.cart.items = Array(repeating: "tea", count: 100)
      shop.orders = [Order(id: 1, lines: Array(repeating: Line(id: "a"), count: 100))]
      shop.stock = ["tea": Shelf()]
    }
    func address(_ lines: [Line]) -> Int {
      lines.withUnsafeBytes { Int(bitPattern: $0.baseAddress) }
    }
    func itemsAddress() -> Int {
      shop.withModel { $0.cart.items.withUnsafeBytes { Int(bitPattern: $0.baseAddress) } }
    }
    let before = (itemsAddress(), shop.withModel { address($0.orders[0].lines) })
    shop.child(\.cart).updateModel { $0.items[5] = "milk" }
    #expect(throws: Never.self) {
      try shop.child(\.orders, id: 1).updateModel { $0.lines[5].count = 1 }
    }
    #expect(itemsAddress() == before.0)
    #expect(shop.withModel { address($0.orders[0].lines) } == before.1)
  }

  @Test func keepsItsStoreAlive() {
    let child: ChildStore<Cart, ShopAction>
    weak var released: ShopStore?
    do {
      let store = ShopStore.shop()
      released = store
      child = store.child(\.cart)
    }
    child.updateModel { $0.items = ["tea"] }
    #expect(child.model.items == ["tea"])
    withExtendedLifetime(child) { #expect(released != nil) }
  }

  @Test(arguments: [false, true])
  func insideAnExclusiveSectionStopsTheProgramAndNamesTheStores(changes: Bool) async {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) { [changes] in
      let cart = ShopStore.shop().child(\.cart)
      CounterStore.counter("held").updateModel { _ in
        if changes { cart.updateModel { $0.items = [] } } else { _ = cart.model }
      }
    }
    #expect(
      result.message.contains("Store \"shop\" can't be \(changes ? "changed" : "read") inside"))
    #expect(result.message.contains("exclusive section of store \"held\""))
  }
}
