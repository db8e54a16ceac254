/// A store run of a dispatch, as a middleware's hook receives it.
public struct MiddlewareContext: Sendable {
  let session: MiddlewareSession
  let storeIndex: Int
  /// The end of the store run, or nil in `willDispatch`.
  private let end: End?

  /// The end of a store run.
  ///
  /// Copying it counts no reference in the common case, `finished`.
  private struct End {
    let unfinished: Unfinished?
    let duration: Int64
    let timeQueued: Int64
  }

  private final class Unfinished: Sendable {
    let outcome: StoreOutcome

    init(_ outcome: StoreOutcome) {
      self.outcome = outcome
    }
  }

  /// Makes a context for `willDispatch`.
  init(_ session: MiddlewareSession, at storeIndex: Int) {
    self.session = session
    self.storeIndex = storeIndex
    end = nil
  }

  /// Makes a context for `didDispatch`.
  ///
  /// Durations are in nanoseconds.
  init(
    _ session: MiddlewareSession, at storeIndex: Int, _ outcome: StoreOutcome, duration: Int64,
    timeQueued: Int64
  ) {
    self.session = session
    self.storeIndex = storeIndex
    end = End(
      unfinished: outcome.isFinished ? nil : Unfinished(outcome), duration: duration,
      timeQueued: timeQueued)
  }

  /// The outcome of the store run, or nil in `willDispatch`.
  public var outcome: StoreOutcome? {
    end.map { $0.unfinished?.outcome ?? .finished }
  }

  /// The time from the store's start to its end, or nil in `willDispatch`.
  ///
  /// Zero if the store was not started. Measured by the dispatcher's clock, like `timeQueued`.
  public var duration: Duration? {
    end.map { .nanoseconds($0.duration) }
  }

  /// The time that the action waited before the store's start, or nil in `willDispatch`.
  ///
  /// The action waits for its scheduler, for earlier dispatches and stores, and for its operation's dependencies. The
  /// time counts from the end of the `willDispatch` hooks. If the store was not started, it counts to the end of the
  /// run.
  public var timeQueued: Duration? {
    end.map { .nanoseconds($0.timeQueued) }
  }

  /// The identity of the dispatched action, shared by all of its stores.
  public var id: DispatchID { session.id }
  /// The dispatcher, for hooks that dispatch.
  public var dispatcher: Dispatcher { session.dispatcher }
  /// The transaction inside which this one was dispatched.
  public var parent: DispatchID? { session.parent }
  /// The mode of the dispatch.
  public var mode: Dispatcher.Mode { session.mode }
  /// The source location of the dispatch.
  public var callSite: CallSite { session.callSite }
}
