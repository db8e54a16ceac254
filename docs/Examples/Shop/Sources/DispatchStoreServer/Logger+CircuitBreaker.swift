public import DispatchStore
public import Logging

extension Logger {
  /// Logs a new state of a circuit breaker: `warning` if it opens, else `info`.
  ///
  ///     CircuitBreaker(name: "bank", onChange: { logger.log($0, ofBreaker: "bank") })
  public func log(_ state: CircuitBreaker.State, ofBreaker name: String) {
    log(
      level: state == .open ? .warning : .info, "The circuit breaker \(name) is \(state).",
      metadata: ["breaker": "\(name)", "state": "\(state)"])
  }
}
