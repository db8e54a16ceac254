public import DispatchStore
public import Tracing

/// Makes a span for each dispatch, and a child span for each store's part in it.
///
/// The dispatch's span is the current one for all code of the dispatch: handlers with their child tasks, and the
/// dispatches that they make. Name `InstrumentationContext.$current` when you make the dispatcher, so that `dispatch`,
/// a `send` in a busy lane, effects and schedules have the caller's span as their parent:
///
///     Dispatcher(name: "shop", carrying: [CarriedTaskLocal(InstrumentationContext.$current)])
///
/// A store's span begins when the store starts, so the gap before it is the time in the queue. Each attempt of a retry
/// has a span. If the tracer doesn't record the dispatch's span, because the trace is sampled out, no further span is
/// made for it.
public final class DispatchTracer: Middleware {
  private let tracer: any Tracer
  private let lane: @Sendable (Dispatcher.Mode) -> String
  private let names = TypeNames()

  private enum SpanKey: DispatchKey { typealias Value = any Span }
  /// The time at which a store's part was made.
  private enum TimeKey: DispatchKey { typealias Value = UInt64 }

  /// Makes a middleware that starts its spans by a tracer.
  ///
  /// - Parameters:
  ///   - tracer: The tracer.
  ///   - lane: Returns what a span shows of a mode. By default it has the key of the lane: hide that if it is private, such
  ///     as an account.
  public init(
    _ tracer: any Tracer = InstrumentationSystem.tracer,
    lane: @escaping @Sendable (Dispatcher.Mode) -> String = { "\($0)" }
  ) {
    (self.tracer, self.lane) = (tracer, lane)
  }

  /// Starts the dispatch's span, and binds its context.
  public func dispatchWillBegin(_ dispatch: DispatchInfo) {
    let outer = InstrumentationContext.current
    let span = tracer.startSpan("dispatch", context: outer ?? .topLevel)
    if span.isRecording {
      // Only now, since the names of the actions take longer than a trace that is sampled out.
      span.operationName = name(of: dispatch)
      span.updateAttributes { attributes in
        attributes["dispatch.id"] = "\(dispatch.id)"
        attributes["dispatch.parent"] = dispatch.parent.map { "\($0)" }
        attributes["dispatch.lane"] = lane(dispatch.mode)
        attributes["code.location"] = "\(dispatch.callSite)"
      }
      dispatch[SpanKey.self] = span
      dispatch.bind(InstrumentationContext.$current, to: span.context)
    } else if span.context.count > outer?.count ?? 0 {
      // A new trace that is sampled out: what is dispatched inside belongs to it, and begins no trace of its own.
      dispatch.bind(InstrumentationContext.$current, to: span.context)
    }
  }

  /// Notes when the store's part in the dispatch was made.
  public func willDispatch(
    transaction: DispatchInfo, action: AnyAction, in store: AnyStore
  ) -> MiddlewareVerdict {
    if transaction[SpanKey.self] != nil {
      transaction[byStore: TimeKey.self] = DefaultTracerClock.now.nanosecondsSinceEpoch
    }
    return .pass
  }

  /// Records the store's span, which has ended by now; a persistent store's before its commit was saved.
  public func didDispatch(transaction run: StoreRunInfo, action: AnyAction, in store: AnyStore) {
    guard let parent = run.dispatch[SpanKey.self], let made = run.dispatch[byStore: TimeKey.self]
    else { return }
    let start = DefaultTracerClock.Timestamp(
      nanosecondsSinceEpoch: made &+ UInt64(run.timeQueued.nanoseconds))
    let end = DefaultTracerClock.Timestamp(
      nanosecondsSinceEpoch: start.nanosecondsSinceEpoch &+ UInt64(run.duration.nanoseconds))
    let span = tracer.startSpan(
      "\(names.name(of: action)) in \(store.identifier)", context: parent.context, at: start)
    span.updateAttributes { attributes in
      attributes["dispatch.store"] = store.identifier
      attributes["dispatch.queued_ms"] = run.timeQueued.milliseconds
    }
    Self.note(RunOutcome(run.outcome), run.outcome.error, in: span)
    span.end(at: end)
  }

  /// Ends the dispatch's span.
  public func dispatchDidEnd(_ dispatch: DispatchInfo, result: DispatchResult) {
    guard let span = dispatch[SpanKey.self] else { return }
    Self.note(result.error.map(RunOutcome.init) ?? .finished, result.error, in: span)
    span.end()
  }

  private static func note(_ outcome: RunOutcome, _ error: (any Error)?, in span: any Span) {
    span.attributes["dispatch.outcome"] = outcome.rawValue
    guard let error else { return }
    span.recordError(error)
    if outcome.isFailure { span.setStatus(SpanStatus(code: .error, message: "\(error)")) }
  }

  private func name(of dispatch: DispatchInfo) -> String {
    let actions = dispatch.actions
    let first = actions.first.map { names.name(of: $0) } ?? "nothing"
    return actions.count > 1 ? "\(first) and \(actions.count - 1) more" : first
  }
}
