package import DispatchStore

/// An order, from the customer's request to its final state.
package struct Order: Codable, Equatable, Sendable {
  package enum State: String, Codable, Sendable {
    case placed, paid, declined, cancelling, cancelled

    package var isFinal: Bool { self == .declined || self == .cancelled }
  }

  package let id: Int
  package let customer: String
  package let sku: String
  package let count: Int
  /// The price of all pieces, in cents.
  package let amount: Int
  package internal(set) var receipt: String?
  /// What has happened to it, in order: a client that comes back asks for the events from a number on.
  package internal(set) var states: [State] = [.placed]

  package var state: State { states.last! }
}

/// The model of the orders' store.
package struct Orders: ModelType, Codable {
  package var all = TrackedDictionary<Int, Order>()

  package init() {}

  /// Moves an order on, or says why that can't be.
  mutating func move(
    _ id: Int, from former: Order.State, to state: Order.State, receipt: String? = nil
  ) throws -> Order {
    guard var order = all[id] else { throw ShopError.unknownOrder(id) }
    guard order.state == former else { throw ShopError.wrongState(id, order.state) }
    order.states.append(state)
    if let receipt { order.receipt = receipt }
    all[id] = order
    return order
  }
}

/// Goods in stock.
package struct Goods: Codable, Equatable, Sendable {
  package var available = 0
  /// The price of a piece, in cents.
  package var price = 0
}

/// The model of the stock's store.
package struct Stock: ModelType, Codable {
  package var goods = TrackedDictionary<String, Goods>()

  package init() {}
}

/// Why the shop refuses a request.
package enum ShopError: Error, Equatable {
  case unknownGoods(String)
  case soldOut(String, available: Int)
  case unknownOrder(Int)
  case wrongState(Int, Order.State)
}
