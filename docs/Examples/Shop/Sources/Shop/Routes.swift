import DispatchStore
import DispatchStoreServer
import HTTPTypes
import Hummingbird
import ShopCore
import Synchronization

/// The shop over HTTP.
struct Routes: Sendable {
  let shop: Shop
  /// The options of requests that change something: a limit and a time limit.
  ///
  /// And detached, since repeats join the first request: it goes on if that is cancelled.
  let controls: DispatchOptions
  /// The longest time that a request takes.
  let timeLimit: Duration
  let numbers: OrderNumbers
  /// Each stream takes a file, of which a process often has 1,024, for as long as its client likes.
  let streams = StreamLimit(800)

  func add(to router: Router<ShopContext>) {
    router.post("/stock/:sku", use: addStock)
    router.get("/stock/:sku", use: getStock)
    router.post("/orders", use: placeOrder)
    router.get("/orders/:id", use: getOrder)
    router.post("/orders/:id/cancel", use: cancelOrder)
    router.get("/orders/:id/events", use: events)
  }

  @Sendable private func addStock(
    _ request: Request, _ context: ShopContext
  ) async throws -> StockAnswer {
    let sku = try sku(context)
    let stock = try await request.decode(as: StockRequest.self, context: context)
    guard 0...1_000_000_000 ~= stock.add, 0...1_000_000_000 ~= stock.price else {
      throw HTTPError.invalid("add and price are 0 to 1,000,000,000.")
    }
    let add = AddStock(sku: sku, count: stock.add, price: stock.price)
    let options = try options(of: request, for: "stock of \(sku)")
    return StockAnswer(sku, try await shop.dispatcher.send(add, options: options).reply)
  }

  @Sendable private func getStock(
    _ request: Request, _ context: ShopContext
  ) async throws -> StockAnswer {
    let sku = try sku(context)
    guard let goods = try await shop.stock.savedElement(\.goods, sku, timeout: timeLimit) else {
      throw ShopError.unknownGoods(sku)
    }
    return StockAnswer(sku, goods)
  }

  @Sendable private func placeOrder(
    _ request: Request, _ context: ShopContext
  ) async throws -> EditedResponse<OrderAnswer> {
    let wanted = try await request.decode(as: OrderRequest.self, context: context)
    guard 1...1_000 ~= wanted.count else { throw HTTPError.invalid("count is 1 to 1,000.") }
    guard wanted.customer.isName, wanted.sku.isName else { throw HTTPError.invalidName }
    let options = try options(of: request, for: "order of \(wanted.customer)")
    let place = Place(
      id: numbers.next(), customer: wanted.customer, sku: wanted.sku, count: wanted.count)
    let order = try await shop.dispatcher.send(place, options: options).reply
    return EditedResponse(
      status: .created, headers: [.location: "/orders/\(order.id)"], response: OrderAnswer(order))
  }

  @Sendable private func getOrder(
    _ request: Request, _ context: ShopContext
  ) async throws -> OrderAnswer {
    OrderAnswer(try await order(context))
  }

  @Sendable private func cancelOrder(
    _ request: Request, _ context: ShopContext
  ) async throws -> EditedResponse<OrderAnswer> {
    let cancel = Cancel(order: try orderID(context))
    let order = try await shop.dispatcher.send(cancel, options: controls).reply
    return EditedResponse(status: .accepted, response: OrderAnswer(order))
  }

  @Sendable private func events(
    _ request: Request, _ context: ShopContext
  ) async throws -> Response {
    let order = try await order(context)
    let last = max(0, request.lastEventID.flatMap(Int.init) ?? 0)
    // To a browser, the end of a response is a pause: it comes back until it gets this status.
    if order.state.isFinal, last >= order.states.count { return Response(status: .noContent) }
    return try .serverSentEvents(
      OrderEvents(orders: shop.orders, id: order.id, last: last), within: streams)
  }

  /// The options of a request: the controls, with its idempotency key if it has one.
  ///
  /// - Parameter scope: What the key belongs to, so that two customers may choose the same one.
  private func options(of request: Request, for scope: String) throws -> DispatchOptions {
    guard let key = try request.idempotencyKey() else { return controls }
    // Names and keys have no line breaks, so no other scope and key make the same text.
    return [controls, .idempotencyKey("\(scope)\n\(key)")]
  }

  private func sku(_ context: ShopContext) throws -> String {
    let sku = try context.decoded("sku")
    guard sku.isName else { throw HTTPError.invalidName }
    return sku
  }

  private func orderID(_ context: ShopContext) throws -> Int {
    let text = try context.decoded("id")
    guard let id = Int(text) else {
      throw HTTPError(.notFound, message: "There is no order \(text).")
    }
    return id
  }

  /// Reads an order once it is in the database, since nobody may hear of what a crash would undo.
  private func order(_ context: ShopContext) async throws -> Order {
    let id = try orderID(context)
    guard let order = try await shop.orders.savedElement(\.all, id, timeout: timeLimit) else {
      throw ShopError.unknownOrder(id)
    }
    return order
  }
}

/// Gives each order a number; a number may be left out.
final class OrderNumbers: Sendable {
  private let last: Atomic<Int>

  init(after last: Int) { self.last = Atomic(last) }

  func next() -> Int { last.wrappingAdd(1, ordering: .relaxed).newValue }
}
