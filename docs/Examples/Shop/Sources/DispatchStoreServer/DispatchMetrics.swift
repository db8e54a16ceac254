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
/// | `dispatchstore.rate_limit.keys`, `.waiting` | gauge | `limit` |
/// | `dispatchstore.rate_limit.admitted`, `.rejected` | counter | `limit` |
/// | `dispatchstore.breaker.state`: 0 closed, 1 half-open, 2 open | gauge | `breaker` |
/// | `dispatchstore.breaker.admitted`, `.rejected`, `.openings` | counter | `breaker` |
/// | `dispatchstore.persistence.lag`, `.failed` | gauge | |
/// | `dispatchstore.effects.pending`, `.dead` | gauge | |
///
/// Gauges are recorded by `recordGauges()`: the route of `addMetrics` calls it before each scrape, so they are as fresh
/// as the scrape and cost nothing between two. A scrape lists all pending work to count it. With a backend that pushes,
/// call it from a timer of yours.
public final class DispatchMetrics: Middleware {
  private let factory: any MetricsFactory
  private weak let dispatcher: Dispatcher?
  private let limits: [String: DispatchLimit]
  private let rateLimits: [String: RateLimit]
  private let breakers: [String: CircuitBreaker]
  private let persistence: Persistence?
  private let storeLabel: @Sendable (String) -> String
  private let inFlight = Atomic(0)
  private let names = TypeNames()

  // Handles, made once for each label set.
  private let series = Cache<SeriesKey, Series>()
  private let gauges = Cache<[String], any MeterHandler>()
  private let counters = Cache<[String], Total>()

  /// Makes a middleware for a dispatcher, which you register yourself or by `Dispatcher.instrument`.
  ///
  /// - Parameters:
  ///   - dispatcher: The dispatcher, held weakly.
  ///   - limits: The limits to follow, by the label of their metrics.
  ///   - rateLimits: The rate limits to follow, by the label of their metrics.
  ///   - breakers: The circuit breakers to follow, by the label of their metrics.
  ///   - persistence: The persistence to follow.
  ///   - factory: The backend.
  ///   - storeLabel: The label for a store's identifier. Each label is a time series for ever: if you register a store
  ///     per customer, map them all to one label.
  public init(
    of dispatcher: Dispatcher, limits: [String: DispatchLimit] = [:],
    rateLimits: [String: RateLimit] = [:], breakers: [String: CircuitBreaker] = [:],
    persistence: Persistence? = nil, factory: any MetricsFactory = MetricsSystem.factory,
    storeLabel: @escaping @Sendable (String) -> String = { $0 }
  ) {
    (self.dispatcher, self.limits, self.persistence) = (dispatcher, limits, persistence)
    (self.rateLimits, self.breakers) = (rateLimits, breakers)
    (self.factory, self.storeLabel) = (factory, storeLabel)
  }

  // MARK: Runs and dispatches

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
    let key = SeriesKey(
      action: ObjectIdentifier(type(of: action)), store: storeLabel(store.identifier),
      outcome: RunOutcome(run.outcome))
    let series = series[
      key,
      orMake: Series(
        factory,
        [
          ("action", names.name(of: action)), ("store", key.store),
          ("outcome", key.outcome.rawValue),
        ])]
    series.count.increment(by: 1)
    series.duration.recordNanoseconds(run.duration.nanoseconds)
    series.queued.recordNanoseconds(run.timeQueued.nanoseconds)
  }

  /// Counts a dispatch that the library has ended, such as one that has timed out in the queue.
  public func dispatchDidEnd(_ dispatch: DispatchInfo, result: DispatchResult) {
    guard !result.isSuccess, let code = result.dispatchError?.code else { return }
    total("errors", ("code", "\(code)")).add(1)
  }

  /// Counts a warning of the library, for `Dispatcher.onWarning`.
  public func count(_ warning: DispatchWarning) {
    total("warnings", ("kind", "\(warning.kind)")).add(1)
  }

  private struct SeriesKey: Hashable {
    let action: ObjectIdentifier
    /// The label, since an entry for each of a million identifiers would stay for ever.
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

  // MARK: Gauges

  /// Records how the dispatcher, the limits, the breakers and the persistence are at this moment.
  public func recordGauges() {
    record("runs.in_flight", inFlight.load(ordering: .relaxed))
    recordLimits()
    recordBreakers()
    if let status = persistence?.status {
      record("persistence.lag", status.lag)
      record("persistence.failed", status.hasFailed ? 1 : 0)
    }
    guard let dispatcher else { return }
    record("effects.pending", dispatcher.pendingEffects.count)
    record("effects.dead", dispatcher.deadLetters.count)
  }

  private func recordLimits() {
    for (name, limit) in limits {
      let (now, label) = (limit.statistics, ("limit", name))
      record("limit.in_flight", now.inFlight, label)
      record("limit.waiting", now.waiting, label)
      record("limit.bound", now.bound, label)
      total("limit.rejected", label).rise(to: now.rejected)
      total("limit.dropped", label).rise(to: now.dropped)
    }
    for (name, limit) in rateLimits {
      let (now, label) = (limit.statistics, ("limit", name))
      record("rate_limit.keys", now.keys, label)
      record("rate_limit.waiting", now.waiting, label)
      total("rate_limit.admitted", label).rise(to: now.admitted)
      total("rate_limit.rejected", label).rise(to: now.rejected)
    }
  }

  private func recordBreakers() {
    for (name, breaker) in breakers {
      let (now, label) = (breaker.statistics, ("breaker", name))
      record("breaker.state", now.state.level, label)
      total("breaker.admitted", label).rise(to: now.admitted)
      total("breaker.rejected", label).rise(to: now.rejected)
      total("breaker.openings", label).rise(to: now.openings)
    }
  }

  private func record(_ name: String, _ value: Int, _ labels: (String, String)...) {
    let gauge = gauges[
      [name] + labels.map(\.1),
      orMake: factory.makeMeter(label: "dispatchstore.\(name)", dimensions: labels)]
    gauge.set(Int64(value))
  }

  private func total(_ name: String, _ label: (String, String)) -> Total {
    counters[
      [name, label.1],
      orMake: Total(factory.makeCounter(label: "dispatchstore.\(name)", dimensions: [label]))]
  }

  /// A counter, with what it has counted.
  private final class Total: Sendable {
    private let counter: any CounterHandler
    private let counted = Mutex(0)

    init(_ counter: any CounterHandler) {
      self.counter = counter
    }

    func add(_ amount: Int) { counter.increment(by: Int64(amount)) }

    /// Counts what has come since the last time; nothing if another scrape has counted it.
    func rise(to total: Int) {
      let before = counted.withLock { counted in
        defer { counted = max(counted, total) }
        return counted
      }
      if total > before { add(total - before) }
    }
  }
}

extension CircuitBreaker.State {
  /// The state as a number, the higher the worse.
  fileprivate var level: Int {
    switch self {
    case .closed: 0
    case .halfOpen: 1
    case .open: 2
    }
  }
}
