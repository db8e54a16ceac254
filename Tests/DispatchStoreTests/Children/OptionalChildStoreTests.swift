import DispatchStore
import Testing

@Suite("A child store whose part may be gone", .timeLimit(.minutes(10)))
struct OptionalChildStoreTests {
  private let shop = ShopStore.shop()

  /// The parts that may be gone, each as a number that is to be found in it.
  enum Kind: CaseIterable, Codable {
    case element, value, optional, subscripted, enumerationCase, elementOfElement, partOfElement

    func child(of shop: ShopStore) -> any Probed {
      switch self {
      case .element: Probe(shop.child(\.orders, id: 7)) { $0.isPaid = $1 }
      case .value: Probe(shop.child(\.stock, key: "tea")) { $0.count = $1 ? 1 : 0 }
      case .optional: Probe(shop.child(unwrapping: \.session)) { $0.user = $1 ? "me" : "" }
      case .subscripted: Probe(shop.child(unwrapping: \.stock["tea"])) { $0.count = $1 ? 1 : 0 }
      case .enumerationCase:
        Probe(shop.child(\.page).child(extract: \.content, embed: Page.loaded)) {
          $0.title = $1 ? "new" : ""
        }
      case .elementOfElement:
        Probe(shop.child(\.orders, id: 7).child(\.lines, id: "b")) { $0.count = $1 ? 1 : 0 }
      case .partOfElement: Probe(shop.child(\.orders, id: 7).child(\.isPaid)) { $0 = $1 }
      }
    }

    static func add(to shop: inout Shop) {
      shop.orders = [6, 7, 8].map { Order(id: $0, lines: [Line(id: "a"), Line(id: "b")]) }
      shop.stock = ["tea": Shelf(), "milk": Shelf()]
      shop.session = Session()
      shop.page = .loaded(Content())
    }

    static func remove(from shop: inout Shop) {
      shop.orders.removeAll { $0.id == 7 }
      shop.stock["tea"] = nil
      shop.session = nil
      shop.page = .loading
    }
  }

  /// A child without its type.
  protocol Probed {
    var isThere: Bool { get }
    func set(_ isChanged: Bool) throws
    func read() -> Bool
  }

  struct Probe<Model: Sendable>: Probed {
    let child: OptionalChildStore<Model, ShopAction>
    let change: (inout Model, Bool) -> Void

    init(
      _ child: OptionalChildStore<Model, ShopAction>,
      _ change: @escaping (inout Model, Bool) -> Void
    ) {
      self.child = child
      self.change = change
    }

    var isThere: Bool { child.model != nil }
    func set(_ isChanged: Bool) throws { try child.updateModel { change(&$0, isChanged) } }
    func read() -> Bool { child.withModel { _ in true } ?? false }
  }

  @Test(arguments: Kind.allCases)
  func readsAndChangesAPartThatIsThere(kind: Kind) throws {
    let child = kind.child(of: shop)
    shop.updateModel { Kind.add(to: &$0) }
    let before = shop.model
    #expect(child.isThere && child.read())
    try child.set(true)
    #expect(shop.model != before)
    #expect(shop.version == 2)
    try child.set(false)
    #expect(shop.model == before)
  }

  @Test(arguments: Kind.allCases)
  func saysThatItsPartIsGoneAndThatItIsBack(kind: Kind) throws {
    let child = kind.child(of: shop)
    for version in [UInt64(0), 2] {
      #expect(!child.isThere && !child.read())
      let before = shop.model
      let error = #expect(throws: DispatchError.self) { try child.set(true) }
      #expect(error?.code == .partMissing)
      #expect(error?.storeIdentifiers == ["shop"])
      #expect(shop.version == version && shop.model == before, "No commit.")
      shop.updateModel { Kind.add(to: &$0) }
      #expect(child.isThere && child.read())
      shop.updateModel { Kind.remove(from: &$0) }
    }
  }

  @Test(arguments: [false, true])
  func anUpdateOfOneThatIsGoneNotifiesNoObserver(isObserved: Bool) throws {
    let versions = Recorder<UInt64>()
    let token = isObserved ? shop.observe(.model) { versions.record($0.version) } : nil
    let child = shop.child(\.orders, id: 7)
    #expect(throws: DispatchError.self) { try child.updateModel { $0.isPaid = true } }
    shop.updateModel { $0.orders = [Order(id: 7)] }
    try child.updateModel { $0.isPaid = true }
    #expect(shop.version == 2)
    #expect(versions.all == (isObserved ? [1, 2] : []))
    withExtendedLifetime(token) {}
  }

  @Test func anUpdateOfOneThatIsGoneCallsNoPropertyObserver() throws {
    struct Watched: ModelType, Equatable {
      var session: Session? { didSet { changes += 1 } }
      var orders: [Order] = [] { didSet { changes += 1 } }
      var changes = 0
    }
    let store = Store<Watched, ShopAction>(model: Watched(), reducer: Reducer())
    let session = store.child(unwrapping: \.session)
    let line = store.child(\.orders, id: 7).child(\.lines, id: "a")
    #expect(throws: DispatchError.self) { try session.updateModel { $0.user = "me" } }
    #expect(throws: DispatchError.self) { try line.updateModel { $0.count = 1 } }
    #expect(store.model == Watched() && store.version == 0)
    store.updateModel { $0.orders = [Order(id: 7)] }
    #expect(throws: DispatchError.self) { try line.updateModel { $0.count = 1 } }
    #expect(store.model.changes == 1 && store.version == 1)
    store.updateModel { $0.session = Session() }
    try session.updateModel { $0.user = "me" }
    #expect(store.model.session?.user == "me")
  }

  @Test func followsItsElementWhereverThatMoves() throws {
    shop.updateModel { $0.orders = (0..<10).map { Order(id: $0) } }
    let child = shop.child(\.orders, id: 4)
    for change: @Sendable (inout [Order]) -> Void in [
      { $0.reverse() }, { $0.removeFirst(3) }, { $0.insert(Order(id: 20), at: 0) },
      { $0 = $0.filter { $0.id == 4 } }, { $0.append(Order(id: 4 + 100)) },
    ] {
      shop.updateModel { change(&$0.orders) }
      #expect(child.model?.id == 4)
      try child.updateModel { $0.isPaid.toggle() }
      #expect(shop.model.orders.filter(\.isPaid).map(\.id).allSatisfy { $0 == 4 })
    }
    #expect(child.model?.isPaid == true)
  }

  @Test func namesThePartThatIsGone() {
    let line = shop.child(\.orders, id: 7).child(\.lines, id: "b")
    let error = #expect(throws: DispatchError.self) { try line.updateModel { $0.count = 1 } }
    let message = error?.message ?? ""
    #expect(message.contains("element with id b"))
    #expect(message.contains("element with id 7"))
    #expect(message.contains("\"shop\""))
  }

  @Test func rethrowsTheErrorOfItsClosure() {
    shop.updateModel { $0.session = Session() }
    #expect(throws: ShopFailure()) {
      try shop.child(unwrapping: \.session).updateModel { session in
        session.user = "me"
        throw ShopFailure()
      }
    }
    #expect(shop.model.session?.user == "me")
    #expect(shop.version == 2)
  }
}
