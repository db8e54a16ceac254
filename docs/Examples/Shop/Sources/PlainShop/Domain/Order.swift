/// An order, as clients see it and as it is stored.
struct Order: Codable, Equatable, Sendable {
  /// `placed` → `paid` → `cancelling` → `cancelled`, or `placed` → `declined`.
  enum State: String, Codable, Sendable {
    case placed, paid, cancelling, cancelled, declined

    /// The states until this one.
    ///
    /// An order reaches each on one way only.
    var path: [State] {
      switch self {
      case .placed: [.placed]
      case .paid: [.placed, .paid]
      case .cancelling: [.placed, .paid, .cancelling]
      case .cancelled: [.placed, .paid, .cancelling, .cancelled]
      case .declined: [.placed, .declined]
      }
    }

    /// Whether no other state follows.
    var isFinal: Bool { self == .cancelled || self == .declined }
  }

  let id: Int
  let customer: String
  let sku: String
  let count: Int
  let amount: Int
  var state: State
  var receipt: String?

  /// The order as it was when it came to `state`.
  func asIt(was state: State) -> Order {
    var order = self
    order.state = state
    if state == .placed { order.receipt = nil }
    return order
  }
}

/// A change of an order's state.
///
/// `number` counts from 1 within the order.
struct OrderEvent: Sendable {
  let number: Int
  let order: Order
}

extension Order {
  /// What has happened to the order, the oldest first.
  var events: [OrderEvent] {
    state.path.enumerated().map { OrderEvent(number: $0.offset + 1, order: asIt(was: $0.element)) }
  }
}

/// Something to sell, with its price in cents.
struct Goods: Codable, Equatable, Sendable {
  let sku: String
  var available: Int
  var price: Int
}

/// What a client asks for when it places an order.
struct OrderRequest: Decodable, Sendable {
  let customer: String
  let sku: String
  let count: Int

  func validate() throws {
    guard customer.isName, sku.isName else { throw ShopError.invalidName }
    if !(1...1000).contains(count) {
      throw ShopError(.invalid, "The field count must be 1 to 1,000, but is \(count).")
    }
  }

  /// Whether this is the request that has placed `order`.
  func hasPlaced(_ order: Order) -> Bool {
    customer == order.customer && sku == order.sku && count == order.count
  }
}

/// What a client asks for when it adds goods to the stock.
struct StockRequest: Decodable, Sendable {
  let add: Int
  let price: Int

  func validate() throws {
    guard 0...1_000_000_000 ~= add, 0...1_000_000_000 ~= price else {
      throw ShopError(.invalid, "The fields add and price must be 0 to 1,000,000,000.")
    }
  }
}

extension String {
  /// Whether it may be a key or a column of a database: short, and nothing in it but what is seen.
  var isName: Bool {
    1...200 ~= utf8.count && !unicodeScalars.contains { $0.properties.generalCategory == .control }
  }
}
