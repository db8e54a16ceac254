import DispatchStore
import DispatchStoreServer
import Hummingbird
import Logging
import ServiceLifecycle
import UnixSignals

struct Patient: ModelType { var name = "", visits = 0 }

func serveWithInspector(
  _ router: Router<BasicRequestContext>, _ dispatcher: Dispatcher, logger: Logger
) async throws {
  let recorder = DispatchRecorder(
    limit: 10_000, byteLimit: 32_000_000, masking: [.field(\Patient.name)])
  dispatcher.register(middleware: recorder)
  let readiness = Readiness(of: dispatcher)
  router.addHealth(readiness)
  var group = ServiceGroupConfiguration(
    services: [
      DispatcherService(dispatcher, logger: logger),
      readiness.makeServer(router, logger: logger),
      readiness,
      InspectorService(of: recorder, at: dispatcher, logger: logger),  // http://127.0.0.1:8081
    ],
    gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
  // Readiness 5, server 2, drain 8, and 2 to spare.
  group.maximumGracefulShutdownDuration = .seconds(17)
  try await ServiceGroup(configuration: group).run()
}
