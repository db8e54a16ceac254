import DispatchStore
import Testing

@Suite("Dispatching to a child store", .timeLimit(.minutes(10)))
struct ChildDispatchTests {
  private let dispatcher = Dispatcher()
  private let shop: ShopStore

  init() {
    shop = dispatcher.register(
      store: .shop(Shop(orders: [Order(id: 7, lines: [Line(id: "a")])], stock: ["tea": Shelf()])))
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func runsTheStoresReducerForThePartInEveryMode(mode: Dispatcher.Mode) async {
    let ends = Recorder<String>()
    let cart = shop.child(\.cart).mapActions(ShopAction.cart)
    let handle = cart.dispatch(.add("a"), mode: mode) { _ in ends.record("plain") }
    #expect(await handle.result.isSuccess)
    let second = cart.dispatch(.add("b"), mode: mode) { result in
      ends.record("\(result.isSuccess)")
    }
    #expect(await second.result.isSuccess)
    #expect(await cart.dispatch(.add("c"), mode: mode).result.isSuccess)
    #expect(cart.model.items == ["a", "b", "c"])
    #expect(shop.version == 3)
    #expect(ends.all == ["plain", "true"])
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func inTheCallersTaskReturnsAtItsEnd(mode: Dispatcher.Mode) async {
    let cart = shop.child(\.cart).mapActions(ShopAction.cart)
    #expect(await cart.send(.add("a"), mode: .init(mode)!).isSuccess)
    #expect(cart.model.items == ["a"])
    #expect(await cart.send(.fail, mode: .init(mode)!).error is ShopFailure)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func reachesPartsOfEachKind(mode: Dispatcher.Mode) async {
    shop.updateModel { shop in
      shop.session = Session()
      shop.page = .loaded(Content())
    }
    let order = shop.child(\.orders, id: 7).mapActions { .order(7, $0) }
    let line = order.child(\.lines, id: "a").mapActions { .line("a", $0) }
    let shelf = shop.child(\.stock, key: "tea").mapActions { .shelf("tea", $0) }
    let session = shop.child(unwrapping: \.session).mapActions(ShopAction.session)
    let content = shop.child(\.page).mapActions(ShopAction.page)
      .child(extract: \.content, embed: Page.loaded)
    #expect(await order.dispatch(.pay, mode: mode).result.isSuccess)
    #expect(await line.dispatch(.more, mode: mode).result.isSuccess)
    #expect(await shelf.dispatch(.put(2), mode: mode).result.isSuccess)
    #expect(await session.dispatch(.rename("me"), mode: mode).result.isSuccess)
    #expect(await content.dispatch(.title("new"), mode: mode).result.isSuccess)
    #expect(order.model == Order(id: 7, isPaid: true, lines: [Line(id: "a", count: 1)]))
    #expect(shelf.model?.count == 2)
    #expect(session.model?.user == "me")
    #expect(content.model?.title == "new")
    #expect(shop.version == 6)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func ofAPartThatIsGoneFailsAndCommitsNothing(mode: Dispatcher.Mode) async {
    let gone = [
      shop.child(\.orders, id: 7).mapActions { .order(8, $0) }.dispatch(.pay, mode: mode),
      shop.child(\.orders, id: 7).mapActions { .order(7, $0) }.child(\.lines, id: "x").mapActions {
        .line("x", $0)
      }
      .dispatch(.more, mode: mode),
      shop.child(\.stock, key: "milk").mapActions { .shelf("milk", $0) }.dispatch(
        .put(1), mode: mode),
      shop.child(unwrapping: \.session).mapActions(ShopAction.session)
        .dispatch(.rename("me"), mode: mode),
      shop.child(\.page).mapActions(ShopAction.page).dispatch(.title("new"), mode: mode),
    ]
    for handle in gone {
      let error = await handle.result.error as? DispatchError
      #expect(error?.code == .partMissing)
      #expect(error?.message.contains("\"shop\"") == true)
    }
    #expect(shop.version == 0)
  }

  @Test func withoutActionsForItDispatchesThoseOfItsParent() {
    shop.child(\.cart).child(\.items).dispatch(.cart(.add("tea")), mode: .sync)
    shop.child(\.orders, id: 7).child(\.isPaid).dispatch(.order(7, .pay), mode: .sync)
    #expect(shop.model.cart.items == ["tea"])
    #expect(shop.model.orders[0].isPaid)
  }

  @Test func isRefusedWhereItsStoreIsNotRegistered() async {
    let cart = ShopStore.shop().child(\.cart).mapActions(ShopAction.cart)
    let ends = Recorder<Bool>()
    for handle in [
      cart.dispatch(.add("a")), cart.dispatch(.add("a")) { result in ends.record(true) },
    ] {
      #expect((handle.resultIfEnded?.error as? DispatchError)?.code == .notRegistered)
    }
    #expect((await cart.send(.add("a")).error as? DispatchError)?.code == .notRegistered)
    #expect(ends.count == 1)
  }

  @Test func namesItsCallSite() async {
    let middleware = RecordingMiddleware(will: { context, _, _ in
      context.callSite.fileID.hasSuffix("ChildDispatchTests.swift")
        ? .pass : .veto(reason: "elsewhere")
    })
    dispatcher.register(middleware: middleware)
    let cart = shop.child(\.cart).mapActions(ShopAction.cart)
    for mode in Dispatcher.Mode.everyMode {
      #expect(await cart.dispatch(.nothing, mode: mode).result.isSuccess)
    }
    #expect(await cart.send(.nothing).isSuccess)
  }

  /// Replies with the number of items.
  struct Count: ActionType { typealias Reply = Int }

  final class CountReducer: Reducer<Cart, Count> {
    override func reduce(into cart: inout Cart, action: Count) {
      reply(cart.items.count)
      unchanged()
    }
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func getsTheReplyOfThePartsReducer(mode: Dispatcher.Mode) async throws {
    let store = dispatcher.register(
      store: Store<Shop, Count>(
        model: Shop(cart: Cart(items: ["a", "b"])),
        reducer: PartReducer(\.cart, action: { $0 }, reducer: CountReducer())))
    #expect(try await store.child(\.cart).send(Count(), mode: .init(mode)!).reply == 2)
    #expect(store.version == 0)
  }
}
