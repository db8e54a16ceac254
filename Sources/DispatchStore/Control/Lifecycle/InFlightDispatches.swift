/// A middleware that knows which dispatches are in flight.
///
/// Register one with a dispatcher before its first dispatch, and read it from any thread: for a drain's report, an
/// operator's page, or a diagnosis (`Dispatcher.diagnosis`). A dispatch costs a record and an entry in a sharded
/// table, from `dispatch` until its completion has run. A dispatch that `debounced` or `throttled` delays is in the
/// table once it begins; a drain's report has it before.
///
/// ```swift
/// let inFlight = InFlightDispatches()
/// dispatcher.register(middleware: inFlight)
/// ```
public final class InFlightDispatches: Middleware {
  let table = InFlightTable()

  /// Makes a middleware, to be registered with one dispatcher.
  public init() {}

  /// The number of dispatches that have not ended.
  public var count: Int { table.count }

  /// The dispatches that have not ended, in the order of their transactions; a sequence has its present action.
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
  /// The transaction of the action.
  ///
  /// For a sequence, the transaction that its actions' transactions have as parent.
  public let id: DispatchID
  /// The transaction from inside which it was dispatched.
  public let parent: DispatchID?
  /// The actions as dispatched; one, unless it is a sequence.
  public let actions: [AnyAction]
  /// The mode that schedules it.
  public let mode: Dispatcher.Mode
  /// The call site of the dispatch.
  public let callSite: CallSite

  init(_ trace: DispatchTrace) {
    (id, parent, actions) = (trace.id, trace.parent, trace.actions)
    (mode, callSite) = (trace.mode, trace.callSite)
  }

  init(_ delayed: DelayedDispatch) {
    (id, parent, actions) = (delayed.id, delayed.parent, delayed.actions)
    (mode, callSite) = (delayed.mode, delayed.callSite)
  }

  /// The types of the actions, the mode and the call site.
  public var description: String {
    let types = actions.prefix(3).map { "\(type(of: $0))" }
    let more = actions.count > types.count ? ["…"] : []
    return "\((types + more).joined(separator: ", ")), \(mode), at \(callSite)"
  }
}
