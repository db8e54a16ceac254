/// What a middleware's hook gets of a dispatch: one store run.
public struct MiddlewareContext: Sendable {
  let session: MiddlewareSession
  let storeIndex: Int
  /// Nil in `willDispatch`.
  private let end: End?

  /// How a store run ended, without what a copy would count references to; mostly it finished.
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

  /// For `willDispatch`.
  init(_ session: MiddlewareSession, at storeIndex: Int) {
    self.session = session
    self.storeIndex = storeIndex
    end = nil
  }

  /// For `didDispatch`; durations in nanoseconds.
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

  /// How the store run ended; nil in `willDispatch`.
  public var outcome: StoreOutcome? {
    end.map { $0.unfinished?.outcome ?? .finished }
  }

  /// How long the store itself took, from its start to its end; nil in `willDispatch`.
  ///
  /// Zero where it was not started. By the dispatcher's clock, as `timeQueued`.
  public var duration: Duration? {
    end.map { .nanoseconds($0.duration) }
  }

  /// How long the action waited before the store's start: for its scheduler, for dispatches and stores
  /// before it, and for what its operation depends on; nil in `willDispatch`.
  ///
  /// From the end of the `willDispatch` hooks on; where the store was not started, to the end of its run.
  public var timeQueued: Duration? {
    end.map { .nanoseconds($0.timeQueued) }
  }

  /// The identity of the dispatched action; the same for all of its stores.
  public var id: TransactionID { session.id }
  /// The dispatcher, for hooks that dispatch.
  public var dispatcher: Dispatcher { session.dispatcher }
  /// The transaction from inside which this one was dispatched.
  public var parent: TransactionID? { session.parent }
  /// How the dispatch is scheduled.
  public var mode: Dispatcher.Mode { session.mode }
  /// Where it was dispatched.
  public var callSite: CallSite { session.callSite }
}
