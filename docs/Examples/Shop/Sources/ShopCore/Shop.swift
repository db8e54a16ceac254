package import DispatchStore

/// The bank: it ignores a key that it knows, and gives its first answer again.
package protocol PaymentGateway: Sendable {
  /// Charges an amount in cents; returns the receipt, or nil if the bank declines.
  func charge(_ amount: Int, order: Int, key: String) async throws -> String?
  func refund(receipt: String, order: Int, key: String) async throws
}

/// The shop: stock, orders, and the work that an order brings with it.
package struct Shop: Sendable {
  /// The actions that may be left when a process dies.
  package static let actions = ActionCoder(Place.self, Cancel.self)

  /// The fields that the inspector may not show: who has ordered, and what the bank knows the payment by.
  package static let masks: [LogMask] = [
    .field(\Place.customer), .field(\Order.customer), .field(\Order.receipt), .field(\Paid.receipt),
  ]

  package let dispatcher: Dispatcher
  package let stock: HandlerStore<Stock>
  package let orders: HandlerStore<Orders>

  /// Opens the shop.
  ///
  /// Work of an earlier process goes on with `resumeWork()`, once all that follows it is registered.
  ///
  /// - Parameters:
  ///   - dispatcher: A dispatcher with or without persistence.
  ///   - gateway: The bank.
  ///   - calls: The options of each call of the bank: limits, a circuit breaker, a timeout.
  package init(
    _ dispatcher: Dispatcher, gateway: any PaymentGateway, calls: DispatchOptions = []
  ) async throws {
    self.dispatcher = dispatcher
    stock = try await dispatcher.register(store: Self.makeStock(), persisted: .elements(\.goods))
    orders = try await dispatcher.register(
      store: Self.makeOrders(stock), waitFor: [stock], persisted: .elements(\.all))
    dispatcher.register(store: Self.makePayments(gateway))
    registerPayments(calls)
  }

  static func makeStock() -> HandlerStore<Stock> {
    Store(identifier: "stock", model: Stock()) {
      On(AddStock.self) { stock, add in
        stock.goods[add.sku, default: Goods()].available += add.count
        stock.goods[add.sku]!.price = add.price
        return stock.goods[add.sku]!
      }
      // The reply to `Place`, the order, is that of the other store.
      On(withoutReply: Place.self) { stock, place in
        guard let goods = stock.goods[place.sku] else { throw ShopError.unknownGoods(place.sku) }
        guard goods.available >= place.count else {
          throw ShopError.soldOut(place.sku, available: goods.available)
        }
        stock.goods[place.sku]!.available -= place.count
      }
      On(GiveBack.self) { stock, back in
        stock.goods[back.order.sku, default: Goods()].available += back.order.count
      }
    }
  }

  static func makeOrders(_ stock: HandlerStore<Stock>) -> HandlerStore<Orders> {
    Store(identifier: "orders", model: Orders()) {
      On(Place.self) { orders, place in
        let price = stock.withModel { $0.goods[place.sku]!.price }
        let order = Order(
          id: place.id, customer: place.customer, sku: place.sku, count: place.count,
          amount: price * place.count)
        orders.all[order.id] = order
        return order
      }
      On(Paid.self) { orders, paid in
        _ = try orders.move(paid.order, from: .placed, to: .paid, receipt: paid.receipt)
      }
      On(Cancel.self) { orders, cancel in
        try orders.move(cancel.order, from: .paid, to: .cancelling)
      }
      On(GiveBack.self) { orders, back in
        _ = try orders.move(back.order.id, from: back.order.state, to: back.state)
      }
    }
  }

  static func makePayments(_ gateway: any PaymentGateway) -> HandlerStore<Int> {
    // It has no state, and needs a model all the same. As actions, its calls have limits, a breaker, spans and metrics.
    Store(identifier: "payments", model: 0) {
      Perform(Charge.self) { charge, _ in
        try await gateway.charge(charge.order.amount, order: charge.order.id, key: charge.key)
      }
      Perform(Refund.self) { refund, _ in
        let order = refund.order
        try await gateway.refund(receipt: order.receipt!, order: order.id, key: refund.key)
      }
    }
  }

  /// Registers an order's charge and refund: durable effects, whose actions say that they are done.
  private func registerPayments(_ calls: DispatchOptions) {
    let backoff = RetryBackoff.exponential(from: .milliseconds(100), upTo: .seconds(60))
      .withFullJitter()
    dispatcher.register(
      effect: DurableEffect(
        "charge", on: Place.self, attempts: nil, backoff: backoff, maxConcurrentRuns: 16
      ) {
        [orders] place, context in
        guard let order = orders.withModel({ $0.all[place.id] }) else {
          throw ShopError.unknownOrder(place.id)
        }
        let charge = Charge(order: order, key: context.key)
        let sent = await context.send(charge, mode: .serial(lane: order.id), options: calls)
        guard let receipt = try sent.reply else { return GiveBack(order: order, state: .declined) }
        return Paid(order: order.id, receipt: receipt)
      })
    dispatcher.register(
      effect: DurableEffect(
        "refund", on: Cancel.self, attempts: nil, backoff: backoff, maxConcurrentRuns: 16
      ) {
        [orders] cancel, context in
        guard let order = orders.withModel({ $0.all[cancel.order] }) else {
          throw ShopError.unknownOrder(cancel.order)
        }
        let refund = Refund(order: order, key: context.key)
        try await context.send(refund, mode: .serial(lane: order.id), options: calls).reply
        return GiveBack(order: order, state: .cancelled)
      })
  }
}
