public import DispatchStore
public import Logging
public import ServiceLifecycle

/// Runs a dispatcher until graceful shutdown, or until saving has failed, then drains it and closes its persistence.
///
/// Services end in reverse order, so the dispatcher comes before the server that uses it, and the readiness last:
///
///     ServiceGroup(
///       services: [dispatcherService, server, readiness], gracefulShutdownSignals: [.sigterm], logger: logger)
///
/// At SIGTERM, the readiness fails, then the server stops, then the dispatcher drains. The sum of these times has to be
/// less than your orchestrator's grace period. If the task is cancelled instead, the dispatcher is shut down at once.
/// So it is if saving fails for good, since only a new process can go on: `run` throws the error, which ends the group.
public struct DispatcherService: Service {
  private let dispatcher: Dispatcher
  private let persistence: Persistence?
  private let timeout: Duration
  private let logger: Logger

  /// Makes a service for a dispatcher.
  ///
  /// Sets the dispatcher's `tracksInFlight`, so that the report of a drain names what hangs.
  ///
  /// - Parameters:
  ///   - dispatcher: The dispatcher.
  ///   - persistence: The persistence to close after the drain.
  ///   - timeout: The longest time of the drain, and then of closing the persistence. If a PostgreSQL server is silent,
  ///     closing takes up to twice its `patience`, and the time to connect, more.
  ///   - logger: Gets the report.
  public init(
    _ dispatcher: Dispatcher, persistence: Persistence? = nil,
    drainTimeout timeout: Duration = .seconds(8), logger: Logger
  ) {
    (self.dispatcher, self.persistence) = (dispatcher, persistence)
    (self.timeout, self.logger) = (timeout, logger)
    dispatcher.tracksInFlight = true
  }

  /// Waits for the end, then drains and closes.
  public func run() async throws {
    let isGraceful = await endsGracefully()
    if !isGraceful { dispatcher.shutDown() }
    let report = await dispatcher.drain(timeout: isGraceful ? timeout : .zero)
    log(report)
    // What still hangs must not commit after the database has gone.
    dispatcher.shutDown()
    // Closing is bounded, since a database may be locked, full or away. What was acknowledged is in it.
    let status = persistence?.status
    try await persistence?.close(timeout: timeout)
    // Closing throws only if commits are lost. An idle service has none, and its end needs a reason all the same.
    if let status, status.hasFailed, let error = status.lastError { throw error }
  }

  /// Waits for the end; returns false if that is a cancellation, or if saving has failed.
  private func endsGracefully() async -> Bool {
    await withTaskGroup(of: Bool.self) { [persistence] group in
      group.addTask { (try? await gracefulShutdown()) != nil }
      if let persistence {
        group.addTask {
          // The statuses end only with the task.
          for await status in persistence.statuses where status.hasFailed { break }
          return false
        }
      }
      defer { group.cancelAll() }
      return await group.next()!
    }
  }

  private func log(_ report: DrainReport) {
    let isDone = report.isComplete && report.uncompensated.isEmpty
    // Names the effects that run, the groups that are not undone, and counts the work that is left.
    logger.log(level: isDone ? .info : .error, "\(report)")
    for dispatch in report.unfinished ?? [] {
      logger.error(
        "A dispatch has not ended.",
        metadata: [
          "dispatch": "\(dispatch.id)", "lane": "\(dispatch.mode)",
          "actions": .array(dispatch.actions.prefix(3).map { "\(type(of: $0))" }),
          "call_site": "\(dispatch.callSite)",
        ])
    }
  }
}
