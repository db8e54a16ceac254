public import DispatchStore
public import Logging
public import Tracing

extension Dispatcher {
  /// Registers middlewares for traces, metrics and logs, and sends the library's warnings to logs and metrics.
  ///
  /// For other levels of logs, make the `DispatchLogger` yourself.
  ///
  /// - Parameter lane: Returns what logs and spans show of a mode. By default it has the key of the lane: hide that if it
  ///   is private, such as an account.
  public func instrument(
    logger: Logger, metrics: DispatchMetrics? = nil, tracer: (any Tracer)? = nil,
    lane: @escaping @Sendable (Mode) -> String = { "\($0)" }
  ) {
    instrument(DispatchLogger(logger, lane: lane), metrics: metrics, tracer: tracer, lane: lane)
  }

  /// Registers middlewares for traces, metrics and logs, and sends the library's warnings to logs and metrics.
  ///
  /// - Parameter lane: Returns what spans show of a mode. The logger has a `lane` of its own.
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
