import AsyncHTTPClient
import Foundation
import Hummingbird
import Logging
import Metrics
import ServiceLifecycle
import UnixSignals

/// The shop without DispatchStore.
///
/// Bootstrap your tracer beside the logs and the metrics: the spans are there.
@main
struct PlainShop {
  static func main() async throws {
    let environment = ProcessInfo.processInfo.environment
    let level = environment["LOG_LEVEL"].flatMap { Logger.Level(rawValue: $0) } ?? .info
    LoggingSystem.bootstrap { label in
      var handler = StreamLogHandler.standardError(label: label)
      handler.logLevel = level
      return handler
    }
    let metrics = PrometheusFactory()
    MetricsSystem.bootstrap(metrics)

    var configuration = HTTPClient.Configuration()
    // The default of 8 connections would hold calls back behind the gate, at the cost of their time.
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = Gate.maximumUnderWay
    try await HTTPClient.withHTTPClient(configuration: configuration) { client in
      let url = environment["GATEWAY"] ?? "http://127.0.0.1:8090"
      try await run(environment, gateway: Gateway(url: url, client: client), metrics: metrics)
    }
  }

  private static func run(
    _ environment: [String: String], gateway: Gateway, metrics: PrometheusFactory
  ) async throws {
    let logger = Logger(label: "plain-shop")
    let database: (any Storage)? = try environment["DATABASE"].map { place in
      if place.hasPrefix("postgresql://") { return try PostgreSQLDatabase(url: place) }
      return try Database(path: place)
    }
    let journal = database.map { Journal(database: $0, logger: logger) }
    let outbox = Outbox()
    let shop = Shop(saved: try database?.load() ?? SavedState(), journal: journal, outbox: outbox)
    let payments = Payments(outbox: outbox, gateway: gateway, shop: shop, logger: logger)
    let admission = Admission()
    let router = makeRouter(shop: shop, journal: journal, metrics: metrics).buildResponder()
    let port = environment["PORT"].flatMap { Int($0) } ?? 8080
    let server = Application(
      responder: ObservingResponder(AdmittingResponder(base: router, admission: admission)),
      configuration: .init(address: .hostname("127.0.0.1", port: port)), logger: logger)

    // They end in the opposite order: first the server with its requests, then the payments.
    var configuration = ServiceGroupConfiguration(
      services: [admission, payments, server], gracefulShutdownSignals: [.sigterm, .sigint],
      logger: logger)
    configuration.maximumGracefulShutdownDuration = .seconds(10)
    try await ServiceGroup(configuration: configuration).run()
    try database?.close()
  }
}
