import DispatchStore

/// The replayers that the command line selects.
enum Replayers {
  /// The plain loop comes first: its answers are the reference.
  static func all(for options: Options) -> [any Replayer] {
    let middlewares = options.logsActions ? [LoggerMiddleware()] : []
    let dispatched = options.modes.map { mode in
      DispatchedReplay(
        mode: mode, inFlight: options.inFlight, bound: options.bound,
        producers: options.producers, middlewares: middlewares)
    }
    return [PlainLoop()] + dispatched
  }
}
