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

  private static func run() async throws {
    let settings = try Settings(ProcessInfo.processInfo.environment)
    var logger = Logger(label: "shop")
    logger.logLevel = settings.logLevel
    let prometheus = PrometheusMetrics()
    MetricsSystem.bootstrap(prometheus)
    let tracer = try settings.traces.map { try JSONLinesTracer(file: URL(fileURLWithPath: $0)) }
    if let tracer { InstrumentationSystem.bootstrap(tracer) }

    // The state: in the database, or in memory alone. If another process owns the database, this one waits for its end.
    var persistence: Persistence?
    if let database = settings.database {
      persistence = try await Persistence(database, actions: Shop.actions)
    }
    let dispatcher = Dispatcher(
      name: "shop", persistence: persistence,
      carrying: [CarriedTaskLocal(InstrumentationContext.$current)])
    let requests = DispatchLimit(1_000, overflow: .reject, name: "requests")
    let metrics = DispatchMetrics(
      of: dispatcher, limits: ["requests": requests], persistence: persistence)
    dispatcher.instrument(logger: logger, metrics: metrics, tracer: tracer)
    let inspector = makeInspector(settings, dispatcher, requests, logger)

    let rate = RateLimit(200, per: .seconds(1), overflow: .wait, name: "gateway")
    let bank = CircuitBreaker(failures: 5, pause: .seconds(1), name: "bank")

    // The shop. The work that is left goes on once the audit sees it.
    var clientSettings = HTTPClient.Configuration()
    clientSettings.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 32
    let client = HTTPClient(configuration: clientSettings)
    let shop = try await Shop(
      dispatcher, gateway: HTTPGateway(client: client, url: settings.gateway),
      calls: [.rateLimited(by: rate), .guarded(by: bank), .timeout(.seconds(3))])
    if let persistence { shop.keepAudit(in: persistence) }
    dispatcher.resumeWork()

    // The server.
    let readiness = Readiness(of: dispatcher, persistence: persistence, delay: .seconds(1))
    let router = Router(context: ShopContext.self)
    if tracer != nil { router.add(middleware: TracingMiddleware()) }
    router.add(middleware: DispatchErrorMiddleware(ownErrors: HTTPError.of))
    router.addHealth(readiness)
    router.addMetrics(prometheus, of: metrics)
    let timeLimit = Duration.seconds(5)
    Routes(
      shop: shop, controls: [.limited(by: requests), .timeout(timeLimit)], timeLimit: timeLimit,
      numbers: OrderNumbers(after: shop.orders.withModel { $0.all.keys.max() ?? 0 })
    ).add(to: router)
    let server = Application(
      router: router,
      // A client that sends or reads nothing for so long is disconnected; events have a heartbeat every 15 seconds.
      server: .http1(
        configuration: .init(
          additionalChannelHandlers: [readiness.connectionCloser(requestTime: timeLimit)],
          idleTimeout: .seconds(30))),
      configuration: .init(address: .hostname("127.0.0.1", port: settings.port)), logger: logger)

    let ending = DispatcherService(
      dispatcher, persistence: persistence, drainTimeout: .seconds(5), logger: logger)
    var group = ServiceGroupConfiguration(
      services: [ending, server, readiness] + (inspector.map { [$0] } ?? []),
      gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
    // A client that never finishes its request does not hold up the end.
    group.maximumGracefulShutdownDuration = .seconds(10)
    try await ServiceGroup(configuration: group).run()
    try await client.shutdown()
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
