/// A store run that has ended, as `didDispatch` and hooks after an action receive it.
public struct StoreRunInfo: Sendable {
  let session: MiddlewareSession
  let storeIndex: Int
  /// The outcome of the store run.
  public let outcome: StoreOutcome
  /// Whether the store got the action.
  let hasStarted: Bool
  /// Whether the store was run before in the dispatch.
  let isRepeated: Bool
  /// The action by which a middleware has replaced the dispatched one.
  let replacement: (any ActionType)?
  let nanoseconds: Int64
  let nanosecondsQueued: Int64
  /// The time from the beginning of the dispatch to the store's start: unlike the time queued, also if the store was run before.
  let nanosecondsBeforeStart: Int64

  /// The dispatch: its parent, mode, call site and dispatcher.
  public var dispatch: DispatchInfo { DispatchInfo(session, at: storeIndex) }

  /// The action that the store got, after replacements.
  public var action: AnyAction { replacement ?? session.action }

  /// The time from the store's start to its end.
  ///
  /// Zero if the store was not started. Measured by the dispatcher's clock, like `timeQueued`.
  public var duration: Duration { .nanoseconds(nanoseconds) }

  /// The time that the action waited before the store's start.
  ///
  /// The action waits for its scheduler, for earlier dispatches and stores, and for its operation's dependencies. The
  /// time counts from the end of the `willDispatch` hooks. If the store was not started, it counts to the end of the
  /// run.
  public var timeQueued: Duration { .nanoseconds(nanosecondsQueued) }
}
