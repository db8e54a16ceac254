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
  let server = Application(router: router, logger: logger)
  let ending = DispatcherService(
    dispatcher, persistence: persistence, drainTimeout: .seconds(8), logger: logger)
  try await ServiceGroup(
    services: [ending, server, readiness],  // They end in reverse order.
    gracefulShutdownSignals: [.sigterm, .sigint], logger: logger
  ).run()
}
