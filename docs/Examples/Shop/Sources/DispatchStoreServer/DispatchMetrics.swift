public import DispatchStore
public import Metrics
import Synchronization

/// Counts and times each store's part in a dispatch, and records gauges of a dispatcher when you ask for them.
///
/// | metric | kind | labels |
/// |---|---|---|
/// | `dispatchstore.runs` | counter | `action`, `store`, `outcome` |
/// | `dispatchstore.run.duration`, `dispatchstore.run.queued` | timer | the same |
/// | `dispatchstore.errors`: dispatches that the library ended | counter | `code` |
/// | `dispatchstore.warnings` | counter | `kind` |
/// | `dispatchstore.runs.in_flight` | gauge | |
/// | `dispatchstore.limit.in_flight`, `.waiting`, `.bound` | gauge | `limit` |
/// | `dispatchstore.limit.rejected`, `.dropped` | counter | `limit` |
/// | `dispatchstore.persistence.lag`, `.failed` | gauge | |
/// | `dispatchstore.effects.pending`, `.dead` | gauge | |
///
/// Gauges are recorded by `recordGauges()`: the route of `addMetrics` calls it before each scrape, so they are as fresh
/// as the scrape and cost nothing between two. With a backend that pushes, call it from a timer of yours.
public final class DispatchMetrics: Middleware {
  private let factory: any MetricsFactory
  private weak let dispatcher: Dispatcher?
  private let persistence: Persistence?
  private let storeLabel: @Sendable (String) -> String
  private let limits: [LimitMetrics]
  private let series = Mutex<[SeriesKey: Series]>([:])
  private let inFlight = Atomic(0)
  private let names = TypeNames()

  /// Makes a middleware for a dispatcher, which you register yourself or by `Dispatcher.instrument`.
  ///
  /// - Parameters:
  ///   - dispatcher: The dispatcher, held weakly.
  ///   - limits: The limits to follow, by the label of their metrics.
  ///   - persistence: The persistence to follow.
  ///   - factory: The backend.
  ///   - storeLabel: The label for a store's identifier. Each label is a time series for ever: if you register a store
  ///     per customer, map them all to one label.
  public init(
    of dispatcher: Dispatcher, limits: [String: DispatchLimit] = [:],
    persistence: Persistence? = nil, factory: any MetricsFactory = MetricsSystem.factory,
    storeLabel: @escaping @Sendable (String) -> String = { $0 }
  ) {
    (self.dispatcher, self.persistence, self.factory) = (dispatcher, persistence, factory)
    self.storeLabel = storeLabel
    self.limits = limits.map { LimitMetrics($1, label: $0, factory) }
  }

  /// Counts the run as in flight.
  public func willDispatch(
    transaction: DispatchInfo, action: AnyAction, in store: AnyStore
  ) -> MiddlewareVerdict {
    inFlight.add(1, ordering: .relaxed)
    return .pass
  }

  /// Counts and times the run.
  public func didDispatch(transaction run: StoreRunInfo, action: AnyAction, in store: AnyStore) {
    inFlight.subtract(1, ordering: .relaxed)
    let series = series(for: action, in: store, RunOutcome(run.outcome))
    series.count.increment(by: 1)
    series.duration.recordNanoseconds(run.duration.nanoseconds)
    series.queued.recordNanoseconds(run.timeQueued.nanoseconds)
  }

  /// Counts a dispatch that the library has ended, such as one that has timed out in the queue.
  public func dispatchDidEnd(_ dispatch: DispatchInfo, result: DispatchResult) {
    guard !result.isSuccess, let code = result.dispatchError?.code else { return }
    count("errors", "code", "\(code)")
  }

  /// Counts a warning of the library, for `Dispatcher.onWarning`.
  public func count(_ warning: DispatchWarning) {
    count("warnings", "kind", "\(warning.kind)")
  }

  /// Counts something rare, whose handle is not worth a cache.
  private func count(_ name: String, _ label: String, _ value: String) {
    factory.makeCounter(label: "dispatchstore.\(name)", dimensions: [(label, value)])
      .increment(by: 1)
  }

  /// Records how the dispatcher, the limits and the persistence are at this moment.
  public func recordGauges() {
    record("runs.in_flight", inFlight.load(ordering: .relaxed))
    for limit in limits { limit.record() }
    if let status = persistence?.status {
      record("persistence.lag", status.lag)
      record("persistence.failed", status.hasFailed ? 1 : 0)
    }
    guard let dispatcher else { return }
    record("effects.pending", dispatcher.pendingEffects.count)
    record("effects.dead", dispatcher.deadLetters.count)
  }

  private func record(_ name: String, _ value: Int) {
    factory.makeMeter(label: "dispatchstore.\(name)", dimensions: []).set(Int64(value))
  }

  // MARK: Handles, made once for each label set

  private struct SeriesKey: Hashable {
    let action: ObjectIdentifier
    let store: String
    let outcome: RunOutcome
  }

  private final class Series: Sendable {
    let count: any CounterHandler
    let duration, queued: any TimerHandler

    init(_ factory: any MetricsFactory, _ labels: [(String, String)]) {
      count = factory.makeCounter(label: "dispatchstore.runs", dimensions: labels)
      duration = factory.makeTimer(label: "dispatchstore.run.duration", dimensions: labels)
      queued = factory.makeTimer(label: "dispatchstore.run.queued", dimensions: labels)
    }
  }

  private func series(for action: AnyAction, in store: AnyStore, _ outcome: RunOutcome) -> Series {
    let key = SeriesKey(
      action: ObjectIdentifier(type(of: action)), store: store.identifier, outcome: outcome)
    if let known = series.withLock({ $0[key] }) { return known }
    let labels = [
      ("action", names.name(of: action)), ("store", storeLabel(key.store)),
      ("outcome", outcome.rawValue),
    ]
    let made = Series(factory, labels)
    return series.withLock { series in
      if let known = series[key] { return known }
      series[key] = made
      return made
    }
  }
}

/// The metrics of a limit.
private final class LimitMetrics: Sendable {
  private let limit: DispatchLimit
  private let inFlight, waiting, bound: any MeterHandler
  private let rejected, dropped: any CounterHandler
  private let counted = Mutex((rejected: 0, dropped: 0))

  init(_ limit: DispatchLimit, label: String, _ factory: any MetricsFactory) {
    func meter(_ name: String) -> any MeterHandler {
      factory.makeMeter(label: "dispatchstore.limit.\(name)", dimensions: [("limit", label)])
    }
    func counter(_ name: String) -> any CounterHandler {
      factory.makeCounter(label: "dispatchstore.limit.\(name)", dimensions: [("limit", label)])
    }
    self.limit = limit
    (inFlight, waiting, bound) = (meter("in_flight"), meter("waiting"), meter("bound"))
    (rejected, dropped) = (counter("rejected"), counter("dropped"))
  }

  /// Records the counts; a counter gets what has come since the last time.
  func record() {
    let (now, before) = counted.withLock { counted in
      let now = limit.statistics
      defer { counted = (now.rejected, now.dropped) }
      return (now, counted)
    }
    inFlight.set(Int64(now.inFlight))
    waiting.set(Int64(now.waiting))
    bound.set(Int64(now.bound))
    rejected.increment(by: Int64(now.rejected - before.rejected))
    dropped.increment(by: Int64(now.dropped - before.dropped))
  }
}
