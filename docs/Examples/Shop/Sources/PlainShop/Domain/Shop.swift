import Foundation
import Metrics

/// Orders, stock and idempotency keys.
///
/// These change together, so they share one actor. It holds what is durable: each change is
/// decided first, then written, then applied in one step without a suspension.
actor Shop {
  private enum Resource: Hashable {
    case order(Int)
    case goods(String)
    case key(String)
  }

  private var orders: [Int: Order]
  private var stock: [String: Goods]
  private var keys: [String: Int]  // idempotency key → order
  private var lastID: Int

  /// Goods of orders that are being written.
  ///
  /// They are still available, but can't be sold again.
  private var reserved: [String: Int] = [:]
  private var locks = KeyedLocks<Resource>()
  private var subscribers = Subscribers()

  private let journal: Journal?
  private let outbox: Outbox
  private let changes = Dictionary(
    uniqueKeysWithValues: [.placed, .paid, .cancelling, .cancelled, .declined].map {
      (state: Order.State) in
      (state, Counter(label: "shop_order_events", dimensions: [("state", state.rawValue)]))
    })

  /// Takes up what was saved.
  ///
  /// Without a journal, the state is in memory alone.
  init(saved: SavedState, journal: Journal?, outbox: Outbox) {
    orders = saved.orders
    stock = saved.stock
    keys = saved.keys
    lastID = saved.orders.keys.max() ?? 0
    self.journal = journal
    self.outbox = outbox
    for payment in saved.payments { outbox.add(payment) }
  }

  // MARK: Stock

  func goods(_ sku: String) throws -> Goods {
    guard let goods = stock[sku] else { throw ShopError(.notFound, "There are no goods \(sku).") }
    return goods
  }

  func addGoods(_ sku: String, _ request: StockRequest) async throws -> Goods {
    try request.validate()
    return try await locked(.goods(sku)) {
      let (sum, overflow) = (stock[sku]?.available ?? 0).addingReportingOverflow(request.add)
      if overflow || sum > 1 << 53 { throw ShopError(.invalid, "That is more than fits.") }
      try await journal?.commit(.goods(sku: sku, add: request.add, price: request.price))
      var goods = stock[sku] ?? Goods(sku: sku, available: 0, price: 0)
      goods.available += request.add
      goods.price = request.price
      stock[sku] = goods
      return goods
    }
  }

  // MARK: Orders

  func order(_ id: Int) throws -> Order {
    guard let order = orders[id] else { throw ShopError(.notFound, "There is no order \(id).") }
    return order
  }

  /// Places an order.
  ///
  /// If its customer's key is known, this answers as it did the first time.
  func place(_ request: OrderRequest, key: String?) async throws -> Order {
    try request.validate()
    guard let key = key.map({ "\(request.customer)\n\($0)" }) else {
      return try await placeNew(request, key: nil)
    }
    return try await locked(.key(key)) {
      guard let order = keys[key].flatMap({ orders[$0] }) else {
        return try await placeNew(request, key: key)
      }
      guard request.hasPlaced(order) else {
        throw ShopError(.invalid, "The key was used for another order.")
      }
      return order.asIt(was: .placed)
    }
  }

  private func placeNew(_ request: OrderRequest, key: String?) async throws -> Order {
    let (sku, count) = (request.sku, request.count)
    let goods = try goods(sku)
    guard goods.available - reserved[sku, default: 0] >= count else {
      throw ShopError(.conflict, "The goods \(sku) are sold out.")
    }
    let (amount, overflow) = goods.price.multipliedReportingOverflow(by: count)
    if overflow { throw ShopError(.invalid, "The amount is more than fits.") }
    lastID += 1
    let order = Order(
      id: lastID, customer: request.customer, sku: sku, count: count, amount: amount,
      state: .placed)
    reserved[sku, default: 0] += count
    defer { reserved[sku]! -= count }
    try await commit(order, payment: Payment(charging: order), key: key)
    return order
  }

  /// Begins to cancel a paid order.
  ///
  /// It is cancelled when the gateway has given the money back.
  func cancel(_ id: Int) async throws -> Order {
    try await locked(.order(id)) {
      var order = try order(id)
      guard order.state == .paid, let receipt = order.receipt else {
        throw ShopError(.conflict, "The order \(id) is \(order.state), so it can't be cancelled.")
      }
      order.state = .cancelling
      try await commit(order, payment: Payment(refunding: order, receipt: receipt))
      return order
    }
  }

  /// Takes the gateway's answer to a payment.
  func settle(_ payment: Payment, answer: Gateway.Answer) async throws {
    try await locked(.order(payment.order)) {
      var order = try order(payment.order)
      switch answer {
      case .charged(let receipt): (order.state, order.receipt) = (.paid, receipt)
      case .declined: order.state = .declined
      case .refunded: order.state = .cancelled
      }
      try await commit(order, payment: nil)
    }
  }

  /// Writes an order's new state with all that belongs to it, then applies it.
  private func commit(_ order: Order, payment: Payment?, key: String? = nil) async throws {
    let returned = order.state == .placed ? -order.count : order.state.isFinal ? order.count : 0
    try await journal?.commit(.order(order, returned: returned, payment: payment, key: key))
    orders[order.id] = order
    stock[order.sku]?.available += returned
    if let key { keys[key] = order.id }
    if let payment { outbox.add(payment) }
    subscribers.publish(order)
    changes[order.state]?.increment()
  }

  // MARK: Events

  /// The events of an order behind `last`, and those to come; nil if no more can come.
  func events(of id: Int, after last: Int) throws -> AsyncStream<OrderEvent>? {
    let order = try order(id)
    if order.state.isFinal, last >= order.state.path.count { return nil }
    let (stream, continuation) = AsyncStream<OrderEvent>.makeStream()
    for event in order.events where event.number > last { continuation.yield(event) }
    guard !order.state.isFinal else {
      continuation.finish()
      return stream
    }
    let subscription = subscribers.add(continuation, to: id)
    continuation.onTermination = { [weak self] _ in
      Task { await self?.removeSubscription(subscription, of: id) }
    }
    return stream
  }

  private func removeSubscription(_ subscription: Int, of id: Int) {
    subscribers.remove(subscription, of: id)
  }

  // MARK: Locks

  /// Runs `body` alone for this resource, in the order of calls.
  private func locked<Value>(
    _ resource: Resource, _ body: () async throws -> Value
  ) async rethrows -> Value {
    if !locks.take(resource) {
      await withCheckedContinuation { locks.wait(for: resource, $0) }
    }
    defer { locks.release(resource)?.resume() }
    return try await body()
  }
}
