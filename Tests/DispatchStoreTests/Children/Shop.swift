import DispatchStore

/// A model with parts of each kind.
struct Shop: ModelType, Equatable {
  var cart = Cart()
  var orders: [Order] = []
  var stock: [String: Shelf] = [:]
  var session: Session?
  var page = Page.loading
  var visits = 0
}

struct Cart: Equatable {
  var items: [String] = []
  var address = Address()
}

struct Address: Equatable { var city = "" }

struct Order: Equatable, Identifiable {
  let id: Int
  var isPaid = false
  var lines: [Line] = []
}

struct Line: Equatable, Identifiable {
  let id: String
  var count = 0
}

struct Shelf: Equatable { var count = 0 }

struct Session: Equatable { var user = "" }

enum Page: Equatable {
  case loading
  case loaded(Content)

  var content: Content? { if case .loaded(let content) = self { content } else { nil } }
}

struct Content: Equatable { var title = "" }

enum ShopAction: ActionType, Equatable {
  case cart(CartAction)
  case order(Int, OrderAction)
  case shelf(String, ShelfAction)
  case session(SessionAction)
  case page(PageAction)
  case visit
  case remove(Int)

  var cart: CartAction? { if case .cart(let action) = self { action } else { nil } }
  var order: (Int, OrderAction)? {
    if case .order(let id, let action) = self { (id, action) } else { nil }
  }
  var shelf: (String, ShelfAction)? {
    if case .shelf(let name, let action) = self { (name, action) } else { nil }
  }
  var session: SessionAction? { if case .session(let action) = self { action } else { nil } }
  var page: PageAction? { if case .page(let action) = self { action } else { nil } }
}

enum CartAction: ActionType, Equatable { case add(String), nothing, fail }
enum OrderAction: ActionType, Equatable { case pay, line(String, LineAction), nothing }
enum LineAction: ActionType, Equatable { case more }
enum ShelfAction: ActionType, Equatable { case put(Int) }
enum SessionAction: ActionType, Equatable { case rename(String) }
enum PageAction: ActionType, Equatable { case title(String) }

struct ShopFailure: Error, Equatable {}

final class CartReducer: Reducer<Cart, CartAction> {
  override func reduce(into cart: inout Cart, action: CartAction) throws {
    switch action {
    case .add(let item): cart.items.append(item)
    case .nothing: unchanged()
    case .fail:
      unchanged()
      throw ShopFailure()
    }
  }
}

final class LineReducer: Reducer<Line, LineAction> {
  override func reduce(into line: inout Line, action: LineAction) { line.count += 1 }
}

final class PayReducer: Reducer<Order, OrderAction> {
  override func reduce(into order: inout Order, action: OrderAction) {
    if case .pay = action { order.isPaid = true } else { unchanged() }
  }
}

final class ShelfReducer: Reducer<Shelf, ShelfAction> {
  override func reduce(into shelf: inout Shelf, action: ShelfAction) {
    switch action {
    case .put(let count): shelf.count += count
    }
  }
}

final class SessionReducer: Reducer<Session, SessionAction> {
  override func reduce(into session: inout Session, action: SessionAction) {
    switch action {
    case .rename(let user): session.user = user
    }
  }
}

final class ContentReducer: Reducer<Content, PageAction> {
  override func reduce(into content: inout Content, action: PageAction) {
    switch action {
    case .title(let title): content.title = title
    }
  }
}

/// What is of no part.
final class VisitReducer: Reducer<Shop, ShopAction> {
  override func reduce(into shop: inout Shop, action: ShopAction) {
    switch action {
    case .visit: shop.visits += 1
    case .remove(let id): shop.orders.removeAll { $0.id == id }
    default: unchanged()
    }
  }
}

typealias ShopStore = Store<Shop, ShopAction>

extension Store where Model == Shop, Action == ShopAction {
  /// A store whose reducer is made of one for each part.
  static func shop(_ shop: Shop = Shop()) -> ShopStore {
    ShopStore(
      identifier: "shop", model: shop,
      reducer: CombinedReducer(
        PartReducer(\.cart, action: \.cart, reducer: CartReducer()),
        ForEachReducer(
          \.orders, action: \.order,
          reducer: CombinedReducer(
            PayReducer(),
            ForEachReducer(
              \.lines,
              action: { if case .line(let id, let action) = $0 { (id, action) } else { nil } },
              reducer: LineReducer()))),
        ForEachReducer(\.stock, action: \.shelf, reducer: ShelfReducer()),
        PartReducer(unwrapping: \.session, action: \.session, reducer: SessionReducer()),
        PartReducer(
          \.page, action: \.page,
          reducer: PartReducer(
            extract: \.content, embed: Page.loaded, action: { $0 }, reducer: ContentReducer())),
        VisitReducer()))
  }
}
