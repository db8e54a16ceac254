import Dispatch
import DispatchStore
import Testing

@Suite("Observers of a child store", .timeLimit(.minutes(10)))
struct ChildObserverTests {
  private let shop = ShopStore.shop()

  /// Where an observer is called.
  enum Place: CaseIterable { case inline, queue, concurrentQueue, main }

  /// Reads a store when it is compared.
  private struct Article: Equatable, Sendable {
    let shop: ShopStore
    var price = 0
    var views = 0

    static func == (one: Self, other: Self) -> Bool {
      one.price == other.price && one.shop.model == other.shop.model
    }
  }

  private func observe<Model: Sendable & Equatable, Action>(
    _ child: OptionalChildStore<Model, Action>, _ place: Place, initial: Bool = false,
    _ body: @escaping @Sendable (Change<Model?, HandledAction>) -> Void
  ) -> ObserverToken {
    switch place {
    case .inline: child.observe(initial: initial, body)
    case .queue: child.observe(initial: initial, on: .queue(DispatchQueue(label: "q")), body)
    case .concurrentQueue: child.observe(initial: initial, on: .queue(.global()), body)
    case .main: child.observe(initial: initial, on: .main) { body($0) }
    }
  }

  @Test(arguments: Place.allCases)
  func areCalledWithEachCommitThatChangesThePartAndNoOther(place: Place) async {
    let changes = Recorder<String>()
    let token = observe(shop.child(\.self).child(\.cart).child(\.items).asOptionalChild, place) {
      changes.record("\($0.version): \($0.value?.joined() ?? "-")")
    }
    shop.updateModel { $0.visits += 1 }
    shop.updateModel { $0.cart.items = ["a"] }
    shop.updateModel { $0.cart.items = ["a"] }
    shop.child(\.cart).updateModel { $0.address.city = "Ghent" }
    shop.child(\.cart).updateModel { $0.items.append("b") }
    shop.updateModel { $0.visits += 1 }
    shop.updateModel { $0.cart.items = [] }
    #expect(await changes.first(3) == ["2: a", "5: ab", "7: "])
    withExtendedLifetime(token) {}
  }

  @Test(arguments: Place.allCases)
  func compareThePartWithNoLockHeld(place: Place) async {
    let article = Store(model: Article(shop: shop)) {}
    let prices = Recorder<Int?>()
    let token = observe(article.child(\.self).asOptionalChild, place) {
      prices.record($0.value?.price)
    }
    article.updateModel { $0.price = 1 }
    article.updateModel { $0.views = 1 }
    article.updateModel { $0.price = 2 }
    #expect(await prices.first(2) == [1, 2])
    withExtendedLifetime(token) {}
  }

  @Test(arguments: Place.allCases)
  func areNotifiedThatThePartIsGoneAndThatItIsBack(place: Place) async {
    let changes = Recorder<Bool?>()
    let token = observe(shop.child(\.orders, id: 7), place, initial: true) {
      changes.record($0.value?.isPaid)
    }
    shop.updateModel { $0.orders = [Order(id: 6)] }
    shop.updateModel { $0.orders.append(Order(id: 7)) }
    shop.updateModel { $0.orders[0].isPaid = true }
    shop.updateModel { $0.orders[1].isPaid = true }
    shop.updateModel { $0.orders = [] }
    shop.updateModel { $0.visits += 1 }
    shop.updateModel { $0.orders = [Order(id: 7)] }
    #expect(await changes.first(5) == [nil, false, true, nil, false])
    withExtendedLifetime(token) {}
  }

  @Test(arguments: Place.allCases)
  func areCalledWithThePresentPartWhereTheyAskForIt(place: Place) async {
    shop.updateModel { $0.session = Session(user: "me") }
    let changes = Recorder<String>()
    let token = observe(shop.child(unwrapping: \.session), place, initial: true) {
      changes.record("\($0.version): \($0.value?.user ?? "-")")
    }
    shop.updateModel { $0.visits += 1 }
    shop.updateModel { $0.session?.user = "you" }
    #expect(await changes.first(2) == ["1: me", "3: you"])
    withExtendedLifetime(token) {}
  }

  @Test func areCalledWithEachCommitWhereThePartCanNotBeCompared() {
    struct Opaque: Sendable { var value = 0 }
    let store = Store<Opaque, Ping>(model: Opaque(), reducer: ClosureReducer { .probe($0, $1) })
    let versions = Recorder<UInt64>()
    let tokens = [
      store.child(\.self).observe { versions.record($0.version) },
      store.child(\.self).asOptionalChild.observe(initial: true) { versions.record($0.version) },
    ]
    store.updateModel { _ in }
    store.updateModel { $0.value = 1 }
    #expect(versions.all == [0, 1, 1, 2, 2])
    withExtendedLifetime(tokens) {}
  }

  @Test func areNotCalledWhileAPartThatCanNotBeComparedStaysMissing() {
    struct Opaque: Sendable { var value = 0 }
    struct Holder: Sendable {
      var part: Opaque?
      var count = 0
    }
    let store = Store<Holder, Ping>(model: Holder(), reducer: ClosureReducer { .probe($0, $1) })
    let seen = Recorder<String>()
    let token = store.child(unwrapping: \.part).observe { change in
      let value = change.value.map { "\($0.value)" } ?? "-"
      seen.record("\(change.version): \(value), \(change.old == nil ? "new" : "changed")")
    }
    store.updateModel { $0.count += 1 }
    store.updateModel { $0.part = Opaque() }
    store.updateModel { $0.part?.value = 1 }
    store.updateModel { $0.part = nil }
    store.updateModel { $0.count += 1 }
    #expect(seen.all == ["2: 0, new", "3: 1, changed", "4: -, changed"])
    withExtendedLifetime(token) {}
  }

  @Test func getTheActionAndTheTransactionOfTheStoresDispatch() {
    let dispatcher = Dispatcher()
    dispatcher.register(store: shop)
    let cart = shop.child(\.cart).mapActions(ShopAction.cart)
    let changes = Recorder<Change<Cart, HandledAction>>()
    let token = cart.observe { changes.record($0) }
    let handle = cart.dispatch(.add("tea"), mode: .sync)
    shop.updateModel { $0.cart = Cart() }
    #expect(changes.all.map { $0.action?.base as? ShopAction } == [.cart(.add("tea")), nil])
    #expect(changes.all.map(\.dispatchID) == [handle.dispatchID, nil])
    withExtendedLifetime(token) {}
  }

  @Test(arguments: Place.allCases)
  func areNotCalledAfterTheirEnd(place: Place) async {
    let changes = Recorder<Int>()
    let visits = shop.child(\.visits).asOptionalChild
    let token = observe(visits, place) { changes.record($0.value!) }
    let other = observe(visits, place) { if $0.value! > 1 { changes.record(-$0.value!) } }
    shop.updateModel { $0.visits = 1 }
    _ = await changes.first(1)
    token.cancel()
    shop.updateModel { $0.visits = 2 }
    #expect(await changes.first(2) == [1, -2])
    withExtendedLifetime(other) {}
  }

  @Test func mayChangeThePartThatTheyAreCalledFor() {
    let changes = Recorder<Int>()
    let visits = shop.child(\.visits)
    let token = visits.observe { change in
      changes.record(change.value)
      if change.value < 5 { visits.updateModel { $0 += 1 } }
    }
    shop.updateModel { $0.visits = 1 }
    #expect(changes.all == [1, 2, 3, 4, 5])
    withExtendedLifetime(token) {}
  }

  @Test func compareWithThePartAsItWasLastNotifiedOf() {
    let (dispatcher, notes) = (Dispatcher(), Recorder<String>())
    let store = dispatcher.register(store: .priced())
    let token = store.child(\.note).observe { notes.record($0.value) }
    store.dispatch(.note("hidden"), mode: .sync)
    #expect(notes.count == 0)
    store.updateModel { $0.discount = 1 }
    #expect(notes.all == ["hidden"])
    withExtendedLifetime(token) {}
  }
}

extension ActionOperation where Action == Ping {
  fileprivate static func probe(_ action: Ping, _ store: Store<Model, Ping>) -> ActionOperation {
    ActionOperation(action: action, store: store) { _, _ in }
  }
}
