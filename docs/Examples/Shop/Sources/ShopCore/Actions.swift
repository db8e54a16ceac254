import DispatchStore

/// Puts goods on the shelf.
package struct AddStock: ActionType, Codable, Equatable {
  package typealias Reply = Goods
  let sku: String, count: Int, price: Int

  package init(sku: String, count: Int, price: Int) {
    (self.sku, self.count, self.price) = (sku, count, price)
  }
}

/// Places an order, and takes its goods from the stock: both, or neither.
package struct Place: CodableAction, AtomicAction, Equatable {
  package typealias Reply = Order
  let id: Int
  let customer: String, sku: String, count: Int

  package init(id: Int, customer: String, sku: String, count: Int) {
    (self.id, self.customer, self.sku, self.count) = (id, customer, sku, count)
  }

  /// Whether two requests ask for the same: a repeat comes with a number of its own, and gets the first order.
  package static func == (one: Place, other: Place) -> Bool {
    (one.customer, one.sku, one.count) == (other.customer, other.sku, other.count)
  }
}

/// Cancels a paid order: the money goes back first, then the goods.
package struct Cancel: CodableAction {
  package typealias Reply = Order
  let order: Int

  package init(order: Int) { self.order = order }
}

struct Paid: ActionType {
  let order: Int
  let receipt: String
}

/// Ends an order whose charge was declined or refunded, and puts its goods back.
struct GiveBack: AtomicAction {
  let order: Order
  let state: Order.State
}

/// Charges at the bank, with the key of the work, by which the bank can tell a repeat.
struct Charge: ActionType {
  typealias Reply = String?
  let order: Order
  let key: String
}

struct Refund: ActionType {
  let order: Order
  let key: String
}
