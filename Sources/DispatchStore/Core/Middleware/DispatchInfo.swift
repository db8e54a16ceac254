/// A call of `dispatch` or `send`, as hooks receive it.
public struct DispatchInfo: Sendable {
  let session: MiddlewareSession
  /// The store's index, in a hook by store.
  let storeIndex: Int?
  /// The time from the start of the first store to the end, in `dispatchDidEnd`.
  ///
  /// Zero before the end, and if no store was started. Measured by the dispatcher's clock, like `timeQueued`.
  public var duration: Duration { .nanoseconds(times.duration) }
  /// The time before the first store started, or before the end if none did, in `dispatchDidEnd`.
  ///
  /// Zero before the end.
  public var timeQueued: Duration { .nanoseconds(times.queued) }
  private(set) var times = DispatchTimes()

  init(_ session: MiddlewareSession, at storeIndex: Int? = nil) {
    (self.session, self.storeIndex) = (session, storeIndex)
  }

  /// The identity of the dispatched action, shared by all of its stores.
  ///
  /// For a sequence, the parent of its actions.
  public var id: DispatchID { session.id }
  /// The dispatcher, for hooks that dispatch.
  public var dispatcher: Dispatcher { session.dispatcher }
  /// The dispatch inside which this one was made.
  public var parent: DispatchID? { session.parent }
  /// The actions as dispatched: one, unless it is a sequence.
  public var actions: [AnyAction] { Array(session.actions) }
  /// Whether it was dispatched as a list of actions.
  package var isSequence: Bool { session.isSequence }
  /// The mode of the dispatch.
  public var mode: Dispatcher.Mode { session.mode }
  /// The source location of the dispatch.
  public var callSite: CallSite { session.callSite }

  /// Binds a task-local value for all code of the dispatch; call it in `dispatchWillBegin`.
  ///
  /// The value is bound for later hooks by store, reducers, blocks with their child tasks, inline observers and the
  /// completion, on every thread and in every mode. A dispatch that such code makes sees it in its own
  /// `dispatchWillBegin`; effects, and later steps of a group, see it if the dispatcher carries the task-local value
  /// (`CarriedTaskLocal`). If several middlewares bind the same one, the last wins.
  ///
  /// - Precondition: `dispatchWillBegin` of this dispatch runs.
  public func bind<Value: Sendable>(_ local: TaskLocal<Value>, to value: Value) {
    session.bind(CapturedValue(local, value, isBound: true), at: callSite)
  }

  /// Sets the end and both durations.
  ///
  /// - Parameter started: The start of the first store. Later than the end if none did start.
  mutating func setTimes(began: Int64, started: Int64, ended: Int64) {
    let started = min(started, ended)
    times = DispatchTimes(queued: started - began, duration: ended - started, ended: ended)
  }
}

/// The times of a dispatch that has ended, in nanoseconds; zero before.
struct DispatchTimes {
  /// The time before the first store started, or before the end.
  var queued: Int64 = 0
  /// The time from there to the end.
  var duration: Int64 = 0
  /// The end, by the dispatcher's clock.
  var ended: Int64 = 0
}
