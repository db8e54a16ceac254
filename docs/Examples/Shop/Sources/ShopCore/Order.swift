public import DispatchStore

/// An order, from the customer's request to its final state.
public struct Order: Codable, Equatable, Sendable {
  public enum State: String, Codable, Sendable {
    case placed, paid, declined, cancelling, cancelled

    public var isFinal: Bool { self == .declined || self == .cancelled }
  }

  public let id: Int
  public let customer: String
  public let sku: String
  public let count: Int
  /// The price of all pieces, in cents.
  public let amount: Int
  public internal(set) var receipt: String?
  /// What has happened to it, in order: a client that comes back asks for the events from a number on.
  public internal(set) var states: [State] = [.placed]

  public var state: State { states.last! }
}

/// The model of the orders' store.
public struct Orders: ModelType, Codable {
  public var all = TrackedDictionary<Int, Order>()

  public init() {}

  /// Moves an order on, or says why that can't be.
  mutating func move(_ id: Int, from former: Order.State, to state: Order.State) throws -> Order {
    guard var order = all[id] else { throw ShopError.unknownOrder(id) }
    guard order.state == former else { throw ShopError.wrongState(id, order.state) }
    order.states.append(state)
    all[id] = order
    return order
  }
}

/// Goods in stock.
public struct Goods: Codable, Equatable, Sendable {
  public var available = 0
  /// The price of a piece, in cents.
  public var price = 0
}

/// The model of the stock's store.
public struct Stock: ModelType, Codable {
  public var goods = TrackedDictionary<String, Goods>()

  public init() {}
}

/// Why the shop refuses a request.
public enum ShopError: Error, Equatable {
  case unknownGoods(String)
  case soldOut(String, available: Int)
  case unknownOrder(Int)
  case wrongState(Int, Order.State)
}
