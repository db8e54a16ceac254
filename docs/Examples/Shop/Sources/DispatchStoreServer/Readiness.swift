public import DispatchStore
import HTTPTypes
public import Hummingbird
public import ServiceLifecycle
import Synchronization

/// Says whether the service should get requests, and makes that fail first when it ends.
///
/// Put it last into the `ServiceGroup`: services end in reverse order, so at graceful shutdown the readiness fails, and
/// the next service ends only after `delay`. Until then the load balancer finds out, and the server still answers.
public final class Readiness: Service {
  private let dispatcher: Dispatcher
  private let persistence: Persistence?
  private let maximumLag: Int
  private let delay: Duration
  private let clock: any Clock<Duration>
  private let hasEnded = Atomic(false)

  /// Makes a readiness.
  ///
  /// - Parameters:
  ///   - dispatcher: The dispatcher, which must not be closed.
  ///   - persistence: The persistence, which must not have failed, and whose lease must not be over.
  ///   - maximumLag: The most commits that may wait to be saved.
  ///   - delay: The time between the failure of readiness and the end of the next service.
  ///   - clock: The clock of the delay.
  public init(
    of dispatcher: Dispatcher, persistence: Persistence? = nil, maximumLag: Int = 10_000,
    delay: Duration = .seconds(5), clock: any Clock<Duration> = ContinuousClock()
  ) {
    (self.dispatcher, self.persistence, self.maximumLag) = (dispatcher, persistence, maximumLag)
    (self.delay, self.clock) = (delay, clock)
  }

  /// The reason why the service is not ready; nil if it is.
  public var problem: String? {
    if isEnding { return "The service ends." }
    if dispatcher.isClosed { return "The dispatcher is closed." }
    guard let status = persistence?.status else { return nil }
    if status.hasFailed { return "Saving has failed." }
    // Another process may have taken over, and what this one reads may be out of date.
    if status.isLeaseOver { return "Another process may own the database." }
    return status.lag > maximumLag ? "\(status.lag) commits wait to be saved." : nil
  }

  /// Whether the service ends.
  public var isEnding: Bool { hasEnded.load(ordering: .relaxed) }

  /// Makes readiness fail from now on.
  public func end() { hasEnded.store(true, ordering: .relaxed) }

  /// Waits for graceful shutdown, then fails for the delay.
  public func run() async throws {
    do {
      try await gracefulShutdown()
      end()
      try await clock.sleep(for: delay)
    } catch is CancellationError {
      end()
    }
  }
}

extension RouterMethods {
  /// Adds `GET /health/live`, and `GET /health/ready`, which answers 503 with the reason if the service is not ready.
  @discardableResult
  public func addHealth(_ readiness: Readiness) -> Self {
    get("/health/live") { _, _ in HTTPResponse.Status.ok }
    get("/health/ready") { _, _ in
      try readiness.problem.map { try Response.error(.serviceUnavailable, $0) }
        ?? Response(status: .ok)
    }
    return self
  }

  /// Adds `GET /metrics` in Prometheus's text format.
  ///
  /// - Parameters:
  ///   - prometheus: The backend.
  ///   - metrics: The dispatchers' metrics, whose gauges are recorded before each answer.
  @discardableResult
  public func addMetrics(_ prometheus: PrometheusMetrics, of metrics: DispatchMetrics...) -> Self {
    get("/metrics") { _, _ in
      for metrics in metrics { metrics.recordGauges() }
      return Response(
        status: .ok, headers: [.contentType: "text/plain; version=0.0.4"],
        body: ResponseBody(byteBuffer: ByteBuffer(string: prometheus.render())))
    }
    return self
  }
}
