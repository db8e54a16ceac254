import Foundation
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
    try jsonResponse(await shop.addGoods(context.sku, request.json()))
  }
  router.get("stock/{sku}") { _, context in
    try jsonResponse(await shop.goods(context.sku))
  }
  router.post("orders") { request, _ in
    let order = try await shop.place(request.json(), key: request.idempotencyKey)
    return try jsonResponse(order, status: .created, headers: [.location: "/orders/\(order.id)"])
  }
  router.get("orders/{id}") { _, context in
    try jsonResponse(await shop.order(context.orderID))
  }
  router.post("orders/{id}/cancel") { _, context in
    try jsonResponse(await shop.cancel(context.orderID), status: .accepted)
  }
  router.get("orders/{id}/events") { request, context in
    let last = max(0, request.headers[.lastEventID].flatMap { Int($0) } ?? 0)
    guard let events = try await shop.events(of: context.orderID, after: last) else {
      return Response(status: .noContent)
    }
    return eventStream(events)
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

extension Request {
  fileprivate var idempotencyKey: String? {
    get throws {
      guard let key = headers[.idempotencyKey] else { return nil }
      guard 1...200 ~= key.utf8.count, key.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else {
        throw ShopError(.invalid, "Idempotency-Key has 1 to 200 visible characters of ASCII.")
      }
      return key
    }
  }
}

extension RequestContext {
  private func decoded(_ name: String) throws -> String {
    guard let value = try parameters.require(name).removingPercentEncoding else {
      throw ShopError(.invalid, "The path is not UTF-8.")
    }
    return value
  }

  fileprivate var sku: String {
    get throws {
      let sku = try decoded("sku")
      guard sku.isName else { throw ShopError.invalidName }
      return sku
    }
  }

  fileprivate var orderID: Int {
    get throws {
      let text = try decoded("id")
      guard let id = Int(text) else { throw ShopError(.notFound, "There is no order \(text).") }
      return id
    }
  }
}

extension HTTPField.Name {
  fileprivate static let idempotencyKey = Self("Idempotency-Key")!
  fileprivate static let lastEventID = Self("Last-Event-ID")!
}
