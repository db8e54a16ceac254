public import DispatchStore
import DispatchStoreInspector
import HTTPTypes
package import Hummingbird
public import Logging
import NIOCore
public import ServiceLifecycle

/// Serves the inspector's live page until graceful shutdown, so that you see in a browser what a dispatcher does.
///
///     let recorder = DispatchRecorder(limit: 10_000, byteLimit: 16_000_000, masking: [.field(\Order.customer)])
///     dispatcher.register(middleware: recorder)
///     let inspector = InspectorService(of: recorder, at: dispatcher, logger: logger)
///     ServiceGroup(services: [dispatcherService, server, readiness, inspector], …)
///
/// The page tells what your users do, to everyone who can reach it, so mask what may not leave the process. On loopback
/// it answers only to a `Host` that names loopback: otherwise a page of another site could read it by DNS rebinding.
///
/// An address that can't be bound does not end the service: it logs a warning, and serves nothing. A page that does not
/// read holds up its end for a second.
public struct InspectorService: Service {
  private let recorder: DispatchRecorder
  private let dispatcher: Dispatcher
  private let limits: [DispatchLimit]
  private let host: String
  private let port: Int
  private let pages: StreamLimit
  private let logger: Logger

  /// Makes a service for a recorder.
  ///
  /// - Parameters:
  ///   - recorder: The recorder. Give it a limit of bytes, too: it keeps what each commit has changed.
  ///   - dispatcher: Its dispatcher, for what is in flight.
  ///   - limits: The limits to show.
  ///   - host: The address to bind. Any but loopback shows the page to the network.
  ///   - port: The port to bind.
  ///   - limit: The most pages that follow at the same time; others get 503, and ask again later.
  ///   - logger: Gets the warning.
  public init(
    of recorder: DispatchRecorder, at dispatcher: Dispatcher, limits: [DispatchLimit] = [],
    host: String = "127.0.0.1", port: Int = 8081, readerLimit limit: Int = 8, logger: Logger
  ) {
    (self.recorder, self.dispatcher, self.limits) = (recorder, dispatcher, limits)
    (self.host, self.port, self.logger) = (host, port, logger)
    pages = StreamLimit(limit)
  }

  /// Serves the page until graceful shutdown.
  public func run() async throws {
    // The readiness of this server alone: it fails as the server stops.
    let readiness = Readiness(of: dispatcher)
    let server = readiness.makeServer(
      makeRouter(), configuration: .init(address: .hostname(host, port: port)), logger: logger)
    do {
      try await withGracefulShutdownHandler {
        try await server.run()
      } onGracefulShutdown: {
        readiness.end()
      }
    } catch let error where !(error is CancellationError) {
      logger.warning("The inspector is not served at \(host):\(port): \(error)")
      try? await gracefulShutdown()
    }
  }

  /// `GET /`, the page, and `GET /events`, what it shows.
  package func makeRouter() -> Router<BasicRequestContext> {
    let router = Router()
    if host.isLoopback { router.add(middleware: LoopbackHostMiddleware(port: port)) }
    router.get("/") { _, _ in page }
    router.get("/events", use: events)
    return router
  }

  /// The page without entries, which come as events: so their number is bounded, however many pages are open.
  private var page: Response {
    let page = recorder.livePage(at: dispatcher, events: "events")
    return Response(
      status: .ok,
      headers: [.contentType: "text/html; charset=utf-8", .cacheControl: "no-store"],
      body: ResponseBody(byteBuffer: ByteBuffer(string: page)))
  }

  @Sendable private func events(
    _ request: Request, _ context: BasicRequestContext
  ) throws -> Response {
    // A page that was refused meanwhile has no `Last-Event-ID`, but its address says it.
    let last = request.lastEventID ?? request.uri.queryParameters.get("after")
    let feed = InspectorFeed(of: recorder, at: dispatcher, limits: limits, after: last)
    return try .serverSentEvents(
      feed.map { ServerSentEvent(id: $0.id, event: $0.name, data: $0.data) }, within: pages)
  }
}

/// Refuses requests whose host is not loopback, as those that a browser sends for a site that has rebound its name.
private struct LoopbackHostMiddleware: RouterMiddleware {
  typealias Context = BasicRequestContext

  let port: Int

  func handle(
    _ request: Request, context: Context, next: (Request, Context) async throws -> Response
  ) async throws -> Response {
    // With any port, since it may be forwarded.
    guard request.head.authority?.withoutPort.isLoopback == true else {
      throw HTTPError(.forbidden, message: "Ask for http://127.0.0.1:\(port).")
    }
    return try await next(request, context)
  }
}

extension String {
  /// Whether it is a name or an address of loopback.
  fileprivate var isLoopback: Bool {
    let bare = hasPrefix("[") && hasSuffix("]") ? String(dropFirst().dropLast()) : lowercased()
    let name = (try? SocketAddress(ipAddress: bare, port: 0))?.ipAddress ?? bare
    if ["localhost", "localhost.", "::1"].contains(name) { return true }
    let address = name.hasPrefix("::ffff:") ? name.dropFirst("::ffff:".count) : name[...]
    // The name of a site does not consist of digits and points alone.
    return address.hasPrefix("127.") && address.allSatisfy { "0123456789.".contains($0) }
  }

  /// A host without its port.
  fileprivate var withoutPort: String {
    guard let colon = lastIndex(of: ":"), self[colon...].dropFirst().allSatisfy(\.isNumber) else {
      return self
    }
    return String(self[..<colon])
  }
}
