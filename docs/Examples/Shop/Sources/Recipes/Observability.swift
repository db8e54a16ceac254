import DispatchStore
import DispatchStoreServer
import Foundation
import Hummingbird
import Logging
import Metrics
import Tracing

/// Call the tracer's `forceFlush()` before the process ends: it writes the spans of the last requests.
func observe(
  _ router: Router<BasicRequestContext>, spans: URL, requests: DispatchLimit
) throws -> (Dispatcher, JSONLinesTracer) {
  let prometheus = PrometheusMetrics()
  MetricsSystem.bootstrap(prometheus)
  let tracer = try JSONLinesTracer(file: spans, sampling: 0.01)
  InstrumentationSystem.bootstrap(tracer)
  let dispatcher = Dispatcher(
    name: "bank", defaults: [.timeout(.seconds(5))],
    carrying: [CarriedTaskLocal(InstrumentationContext.$current)])
  let metrics = DispatchMetrics(of: dispatcher, limits: ["requests": requests])
  dispatcher.instrument(logger: Logger(label: "bank"), metrics: metrics, tracer: tracer)
  router.addMetrics(prometheus, of: metrics)  // GET /metrics, which nobody traces.
  router.add(middleware: TracingMiddleware())
  return (dispatcher, tracer)
}
