import HTTPTypes
import Hummingbird
import Logging
import ServiceLifecycle

/// The context of a request, which may pass from one task to another.
struct ShopContext: RequestContext, Sendable {
  var coreContext: CoreRequestContextStorage

  init(source: ApplicationRequestContextSource) { coreContext = .init(source: source) }
}

/// The interface over HTTP.
func makeRouter(shop: Shop, journal: Journal?, metrics: PrometheusFactory)
  -> Router<ShopContext>
{
  let router = Router(context: ShopContext.self)
  addHealth(to: router, journal: journal, metrics: metrics)

  router.post("stock/{sku}") { request, context in
    let sku = try context.parameters.require("sku")
    return try jsonResponse(await shop.addGoods(sku, request.json()))
  }
  router.get("stock/{sku}") { _, context in
    try jsonResponse(await shop.goods(context.parameters.require("sku")))
  }
  router.post("orders") { request, _ in
    let key = request.headers[.idempotencyKey]
    if key?.isEmpty == true { throw ShopError(.invalid, "The Idempotency-Key is empty.") }
    let order = try await shop.place(request.json(), key: key)
    return try jsonResponse(order, status: .created, headers: [.location: "/orders/\(order.id)"])
  }
  router.get("orders/{id}") { _, context in
    try jsonResponse(await shop.order(context.orderID))
  }
  router.post("orders/{id}/cancel") { _, context in
    try jsonResponse(await shop.cancel(context.orderID), status: .accepted)
  }
  router.get("orders/{id}/events") { request, context in
    let last = request.headers[.lastEventID].flatMap { Int($0) } ?? 0
    return eventStream(try await shop.events(of: context.orderID, after: last))
  }
  return router
}

private func addHealth(
  to router: Router<ShopContext>, journal: Journal?, metrics: PrometheusFactory
) {
  router.get("health/live") { _, _ in HTTPResponse.Status.ok }
  router.get("health/ready") { _, _ in
    let isReady = await journal?.isHealthy ?? true
    guard isReady, !Task.isShuttingDownGracefully else {
      throw ShopError(.unavailable, "The service is not ready.")
    }
    return HTTPResponse.Status.ok
  }
  router.get("metrics") { _, _ in
    Response(
      status: .ok, headers: [.contentType: "text/plain; version=0.0.4"],
      body: .init(byteBuffer: ByteBuffer(string: metrics.text())))
  }
}

/// Sends events until the stream or the service ends.
///
/// Then the client asks for the rest.
private func eventStream(_ events: AsyncStream<OrderEvent>) -> Response {
  Response(
    status: .ok, headers: [.contentType: "text/event-stream", .cacheControl: "no-cache"],
    body: .init { writer in
      for await event in events.cancelOnGracefulShutdown() {
        try await writer.write(event.serverSentEvent())
      }
      try await writer.finish(nil)
    })
}

extension RequestContext {
  fileprivate var orderID: Int {
    get throws {
      let text = try parameters.require("id")
      guard let id = Int(text) else { throw ShopError(.notFound, "There is no order \(text).") }
      return id
    }
  }
}

extension HTTPField.Name {
  fileprivate static let idempotencyKey = Self("Idempotency-Key")!
  fileprivate static let lastEventID = Self("Last-Event-ID")!
}
