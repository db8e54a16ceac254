/// A middleware that knows which dispatches are in flight.
///
/// Register one with a dispatcher before its first dispatch, and read it from any thread: for a report of a drain, an
/// operator's page, or a diagnosis (`Dispatcher.diagnosis`). A dispatch costs a record and an entry in a table of
/// several shards, from `dispatch` until its completion has run. What `debounced` or `throttled` delays is in it once it
/// begins; a drain's report has it before.
///
/// ```swift
/// let inFlight = InFlightDispatches()
/// dispatcher.register(middleware: inFlight)
/// ```
public final class InFlightDispatches: Middleware {
  let table = InFlightTable()

  /// Makes one, to be registered with one dispatcher.
  public init() {}

  /// How many there are.
  public var count: Int { table.count }

  /// The dispatches that have not ended, a sequence with its present action, in the order of their transactions.
  public var all: [InFlightDispatch] { table.all.map(InFlightDispatch.init) }

  /// Lets the action pass.
  public func willDispatch(
    transaction: MiddlewareContext, action: AnyAction, in store: AnyStore
  ) -> MiddlewareVerdict { .pass }

  /// Does nothing.
  public func didDispatch(
    transaction: MiddlewareContext, action: AnyAction, in store: AnyStore
  ) {}
}

extension InFlightDispatches: InFlightSource {
  func watch(_ trace: DispatchTrace, of dispatcher: Dispatcher) {
    table.insert(trace)
  }

  func forget(_ trace: DispatchTrace) {
    table.remove(trace)
  }
}

/// A dispatch that has not ended.
public struct InFlightDispatch: Sendable, CustomStringConvertible {
  /// Of one action, its transaction; of a sequence, the one that its actions' transactions have as parent.
  public let id: TransactionID
  /// The transaction from inside which it was dispatched.
  public let parent: TransactionID?
  /// The actions as dispatched; one, unless it is a sequence.
  public let actions: [AnyAction]
  /// How it is scheduled.
  public let mode: Dispatcher.Mode
  /// Where it was dispatched.
  public let callSite: CallSite

  init(_ trace: DispatchTrace) {
    (id, parent, actions) = (trace.id, trace.parent, trace.actions)
    (mode, callSite) = (trace.mode, trace.callSite)
  }

  init(_ delayed: DelayedDispatch) {
    (id, parent, actions) = (delayed.id, delayed.parent, delayed.actions)
    (mode, callSite) = (delayed.mode, delayed.callSite)
  }

  /// The types of its actions, its mode and its call site.
  public var description: String {
    let types = actions.prefix(3).map { "\(type(of: $0))" }
    let more = actions.count > types.count ? ["…"] : []
    return "\((types + more).joined(separator: ", ")), \(mode), at \(callSite)"
  }
}
