public import DispatchStore
public import Logging
public import Tracing

extension Dispatcher {
  /// Registers middlewares for traces, metrics and logs, and sends the library's warnings to logs and metrics.
  ///
  /// For other levels of logs, make the `DispatchLogger` yourself.
  public func instrument(
    logger: Logger, metrics: DispatchMetrics? = nil, tracer: (any Tracer)? = nil
  ) {
    instrument(DispatchLogger(logger), metrics: metrics, tracer: tracer)
  }

  /// Registers middlewares for traces, metrics and logs, and sends the library's warnings to logs and metrics.
  public func instrument(
    _ logger: DispatchLogger, metrics: DispatchMetrics? = nil, tracer: (any Tracer)? = nil
  ) {
    if let tracer { register(middleware: DispatchTracer(tracer)) }
    if let metrics { register(middleware: metrics) }
    register(middleware: logger)
    onWarning { warning in
      logger.log(warning)
      metrics?.count(warning)
    }
  }
}
