import DispatchStore
import DispatchStoreServer
import Hummingbird
import Logging
import ServiceLifecycle
import UnixSignals

func serve(
  _ router: Router<BasicRequestContext>, _ dispatcher: Dispatcher, _ persistence: Persistence?,
  logger: Logger
) async throws {
  let readiness = Readiness(of: dispatcher, persistence: persistence, delay: .seconds(3))
  router.addHealth(readiness)
  let ending = DispatcherService(
    dispatcher, persistence: persistence, drainTimeout: .seconds(5), logger: logger)
  let server = readiness.makeServer(
    router, configuration: .init(address: .hostname("0.0.0.0", port: 8080)), logger: logger)
  var group = ServiceGroupConfiguration(
    services: [ending, server, readiness],  // They end in reverse order.
    gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
  // Readiness 3, server 2, drain 5, and 4 to spare.
  group.maximumGracefulShutdownDuration = .seconds(14)
  try await ServiceGroup(configuration: group).run()
}
