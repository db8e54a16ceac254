import DispatchStore
import Testing

@Suite("A reducer for a part", .timeLimit(.minutes(10)))
struct PartReducerTests {
  private let dispatcher = Dispatcher()

  private func run(_ store: ShopStore, _ action: ShopAction) -> StoreOutcome? {
    store.dispatch(action, mode: .sync).resultIfEnded?[store.identifier]
  }

  @Test(arguments: [false, true])
  func changesNothingWhereItsActionIsForNoPartOrItsReducerSaysSo(isObserved: Bool) {
    let store = dispatcher.register(
      store: ShopStore(
        model: Shop(orders: [Order(id: 1)]),
        reducer: CombinedReducer(
          PartReducer(\.cart, action: \.cart, reducer: CartReducer()),
          ForEachReducer(\.orders, action: \.order, reducer: PayReducer()))))
    let versions = Recorder<UInt64>()
    let token = isObserved ? store.observe(.model) { versions.record($0.version) } : nil
    for action: ShopAction in [.visit, .cart(.nothing), .order(1, .nothing)] {
      #expect(run(store, action)?.isFinished == true)
    }
    #expect(run(store, .cart(.fail))?.error is ShopFailure)
    #expect(store.version == 0)
    #expect(run(store, .cart(.add("tea")))?.isFinished == true)
    #expect(run(store, .order(1, .pay))?.isFinished == true)
    #expect(store.version == 2)
    #expect(versions.all == (isObserved ? [1, 2] : []))
    withExtendedLifetime(token) {}
  }

  @Test func ofAPartThatIsNotThereFailsAndSaysWhich() throws {
    var shop = Shop()
    let reducers: [(Reducer<Shop, ShopAction>, ShopAction, String)] = [
      (
        ForEachReducer(\.orders, action: \.order, reducer: PayReducer()), .order(3, .pay),
        "the element with id 3 of"
      ),
      (
        ForEachReducer(\.stock, action: \.shelf, reducer: ShelfReducer()), .shelf("tea", .put(1)),
        "the value for key tea of"
      ),
      (
        PartReducer(unwrapping: \.session, action: \.session, reducer: SessionReducer()),
        .session(.rename("me")), "the value of"
      ),
    ]
    for (reducer, action, name) in reducers {
      let error = #expect(throws: DispatchError.self) {
        try reducer.reduce(into: &shop, action: action)
      }
      #expect(error?.code == .partMissing)
      #expect(error?.message.contains(name) == true)
    }
    #expect(shop == Shop())
  }

  @Test func ofACaseReducesThatCaseAlone() throws {
    let reducer = PartReducer<Page, PageAction, Content, PageAction>(
      extract: \.content, embed: Page.loaded, action: { $0 }, reducer: ContentReducer())
    var page = Page.loaded(Content())
    try reducer.reduce(into: &page, action: .title("new"))
    #expect(page == .loaded(Content(title: "new")))
    page = .loading
    #expect(throws: DispatchError.self) { try reducer.reduce(into: &page, action: .title("new")) }
    #expect(page == .loading)
  }

  @Test func reducesItsPartInPlace() throws {
    let reducer = PartReducer<Shop, ShopAction, Cart, CartAction>(
      \.cart, action: \.cart, reducer: CartReducer())
    var shop = Shop()
    shop.cart.items.reserveCapacity(10)
    let before = shop.cart.items.withUnsafeBytes { $0.baseAddress }
    try reducer.reduce(into: &shop, action: .cart(.add("tea")))
    #expect(shop.cart.items.withUnsafeBytes { $0.baseAddress } == before)
    #expect(shop.cart.items == ["tea"])
  }

  @Test func thatRemovesAnElementMayRunBehindTheElements() {
    let store = dispatcher.register(
      store: ShopStore(
        model: Shop(orders: [Order(id: 1), Order(id: 2)]),
        reducer: CombinedReducer(
          ForEachReducer(\.orders, action: \.order, reducer: PayReducer()), VisitReducer())))
    #expect(run(store, .remove(1))?.isFinished == true)
    #expect(run(store, .order(2, .pay))?.isFinished == true)
    #expect(run(store, .order(1, .pay))?.errorCode == .partMissing)
    #expect(store.model.orders == [Order(id: 2, isPaid: true)])
  }
}
