public import DispatchStore
public import Logging
public import Tracing

extension Dispatcher {
  /// Registers middlewares for traces, metrics and logs, and sends the library's warnings to logs and metrics.
  ///
  /// For other levels of logs, make the `DispatchLogger` yourself. Logs and spans have the text that `lane` makes of a
  /// mode: hide what they may not show in the key of a lane, such as an account.
  public func instrument(
    logger: Logger, metrics: DispatchMetrics? = nil, tracer: (any Tracer)? = nil,
    lane: @escaping @Sendable (Mode) -> String = { "\($0)" }
  ) {
    instrument(DispatchLogger(logger, lane: lane), metrics: metrics, tracer: tracer, lane: lane)
  }

  /// Registers middlewares for traces, metrics and logs, and sends the library's warnings to logs and metrics.
  public func instrument(
    _ logger: DispatchLogger, metrics: DispatchMetrics? = nil, tracer: (any Tracer)? = nil,
    lane: @escaping @Sendable (Mode) -> String = { "\($0)" }
  ) {
    if let tracer { register(middleware: DispatchTracer(tracer, lane: lane)) }
    if let metrics { register(middleware: metrics) }
    register(middleware: logger)
    onWarning { warning in
      logger.log(warning)
      metrics?.count(warning)
    }
  }
}
