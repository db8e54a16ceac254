import AsyncHTTPClient
import DispatchStore
import DispatchStorePersistence
import DispatchStoreServer
import Foundation
import Hummingbird
import Logging
import Metrics
import ServiceLifecycle
import ShopCore
import Tracing
import UnixSignals

@main
struct ShopServer {
  static func main() async {
    do {
      try await run()
    } catch {
      Logger(label: "shop").critical("The shop ends: \(error)")
      exit(1)
    }
  }

  /// The longest time of a request.
  private static let requestTime = Duration.seconds(5)

  private static func run() async throws {
    let settings = try Settings(ProcessInfo.processInfo.environment)
    var logger = Logger(label: "shop")
    logger.logLevel = settings.logLevel
    let prometheus = PrometheusMetrics()
    MetricsSystem.bootstrap(prometheus)
    let tracer = try settings.traces.map { path in
      try JSONLinesTracer(file: URL(fileURLWithPath: path), trustsCallers: false)
    }
    if let tracer { InstrumentationSystem.bootstrap(tracer) }
    defer { tracer?.forceFlush() }  // The spans of the last requests, which a queue writes.

    // In the database, or in memory alone. If another process owns the database, this one waits for its end.
    var persistence: Persistence?
    if let database = settings.database {
      persistence = try await Persistence(database, actions: Shop.actions)
    }
    let dispatcher = Dispatcher(
      name: "shop", persistence: persistence,
      carrying: [CarriedTaskLocal(InstrumentationContext.$current)])
    // At 1,000 orders a second, a client may repeat one for a quarter of an hour.
    dispatcher.idempotencyKeys.capacity = 1_000_000
    let requests = DispatchLimit(1_000, overflow: .reject, name: "requests")
    let calls = RateLimit(200, per: .seconds(1), overflow: .wait, name: "gateway")
    let bank = CircuitBreaker(
      failures: 5, pause: .seconds(1), name: "bank",
      onChange: { [logger] state in logger.log(state, ofBreaker: "bank") })
    let metrics = DispatchMetrics(
      of: dispatcher, limits: ["requests": requests], rateLimits: ["gateway": calls],
      breakers: ["bank": bank], persistence: persistence)
    dispatcher.instrument(logger: logger, metrics: metrics, tracer: tracer)
    let inspector = makeInspector(settings, dispatcher, requests, logger)

    var clientSettings = HTTPClient.Configuration()
    clientSettings.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 32
    // Shut down also if the shop can't be opened, or its group ends with an error.
    try await HTTPClient.withHTTPClient(configuration: clientSettings) { client in
      let gateway = HTTPGateway(client: client, url: settings.gateway)
      let shop = try await openShop(
        dispatcher, persistence, gateway,
        calls: [.rateLimited(by: calls), .guarded(by: bank), .timeout(.seconds(3))])

      let readiness = Readiness(of: dispatcher, persistence: persistence, delay: .seconds(1))
      let router = Router(context: ShopContext.self)
      // Before the middlewares, so that probes and scrapes are neither traced nor counted.
      router.addHealth(readiness)
      router.addMetrics(prometheus, of: metrics)
      addRoutes(to: router, shop, requests, isTraced: tracer != nil)

      let ending = DispatcherService(
        dispatcher, persistence: persistence, drainTimeout: .seconds(5), logger: logger)
      let server = readiness.makeServer(
        router, configuration: .init(address: .hostname(settings.host, port: settings.port)),
        requestTime: requestTime, logger: logger)
      var group = ServiceGroupConfiguration(
        services: [ending, server, readiness] + (inspector.map { [$0] } ?? []),
        gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
      // Readiness 1, requests 5, calls of the bank 3, and 1 to spare.
      group.maximumGracefulShutdownDuration = .seconds(10)
      try await ServiceGroup(configuration: group).run()
    }
  }

  /// Opens the shop; the work that an earlier process has left goes on once the audit sees it.
  private static func openShop(
    _ dispatcher: Dispatcher, _ persistence: Persistence?, _ gateway: HTTPGateway,
    calls: DispatchOptions
  ) async throws -> Shop {
    let shop = try await Shop(dispatcher, gateway: gateway, calls: calls)
    if let persistence { shop.keepAudit(in: persistence) }
    dispatcher.resumeWork()
    return shop
  }

  private static func addRoutes(
    to router: Router<ShopContext>, _ shop: Shop, _ requests: DispatchLimit, isTraced: Bool
  ) {
    if isTraced { router.add(middleware: TracingMiddleware()) }
    router.add(middleware: RequestMetrics())
    router.add(middleware: DispatchErrorMiddleware(ownErrors: HTTPError.of))
    let routes = Routes(
      shop: shop, controls: [.limited(by: requests), .timeout(requestTime), .detached],
      timeLimit: requestTime,
      numbers: OrderNumbers(after: shop.orders.withModel { $0.all.keys.max() ?? 0 }))
    routes.add(to: router)
  }

  /// Records what happens, and makes the service that shows it; nil if the inspector is off.
  private static func makeInspector(
    _ settings: Settings, _ dispatcher: Dispatcher, _ requests: DispatchLimit, _ logger: Logger
  ) -> InspectorService? {
    guard let (host, port) = settings.inspector else { return nil }
    let recorder = DispatchRecorder(
      limit: 10_000, byteLimit: 32 << 20, masking: Shop.masks, actions: Shop.actions)
    dispatcher.register(middleware: recorder)
    var logger = logger
    logger[metadataKey: "setting"] = "INSPECTOR"
    return InspectorService(
      of: recorder, at: dispatcher, limits: [requests], host: host, port: port, logger: logger)
  }
}
