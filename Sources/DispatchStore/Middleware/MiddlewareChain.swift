/// The middlewares of one dispatch, in order of registration: the fan-out of both hooks.
struct MiddlewareChain {
  let middlewares: [any Middleware]

  /// What came of asking all of them about one store.
  struct Reply {
    /// What the store is to see.
    var action: any ActionType
    /// How many of them heard, and so will hear the end.
    var heard = 0
    /// The part's end, where one of them vetoed or failed.
    var outcome: StoreOutcome?
  }

  func will(
    _ transaction: DispatchTransaction, action: any ActionType, in store: any StoreType
  ) -> Reply {
    var reply = Reply(action: action)
    for middleware in middlewares {
      reply.heard += 1
      do {
        let verdict = try middleware.willDispatch(
          transaction: transaction, action: reply.action, in: store)
        switch verdict {
        case .pass:
          break
        case .replace(let replacement):
          try Self.check(replacement, replaces: action)
          reply.action = replacement
        case .veto(let reason):
          reply.outcome = reply.outcome ?? .vetoed(Veto(middleware: middleware, reason: reason))
          return reply
        }
      } catch {
        reply.outcome = reply.outcome ?? .failed(Self.failure(of: middleware, error, in: store))
      }
    }
    return reply
  }

  func did(
    _ transaction: DispatchTransaction, action: any ActionType, in store: any StoreType, heard: Int,
    report: (DispatchIncident) -> Void
  ) {
    for middleware in middlewares[..<heard].reversed() {
      do {
        try middleware.didDispatch(transaction: transaction, action: action, in: store)
      } catch {
        let message = "\(type(of: middleware)) threw in didDispatch of \(transaction.id): \(error)"
        report(
          DispatchIncident(
            kind: .middlewareFailed, storeIdentifier: store.identifier, message: message))
      }
    }
  }

  private static func check(
    _ replacement: any ActionType, replaces action: any ActionType
  ) throws {
    guard type(of: replacement) != type(of: action) else { return }
    throw DispatchError(
      code: .middlewareFailed,
      message: """
        It replaced an action of type \(type(of: action)) by one of type \(type(of: replacement)). \
        Replace an action by another of the same type, or veto it and dispatch the other one.
        """)
  }

  private static func failure(
    of middleware: any Middleware, _ error: any Error, in store: any StoreType
  ) -> DispatchError {
    DispatchError(
      code: .middlewareFailed,
      message: "\(type(of: middleware)) failed before store \"\(store.identifier)\": \(error)",
      cause: error)
  }
}
