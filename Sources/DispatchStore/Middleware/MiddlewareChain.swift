/// The middlewares of one dispatch, in order of registration: the fan-out of both hooks.
struct MiddlewareChain {
  let middlewares: [any Middleware]

  /// What came of asking all of them about one store, where one did more than let the action pass.
  struct Reply {
    /// What the store is to see.
    var action: any ActionType
    /// How many of them heard, and so will hear the end.
    var heard: Int
    /// The part's end, where one of them vetoed or failed.
    var outcome: StoreOutcome?

    /// The first one who says how it ends decides that.
    func ending(_ outcome: StoreOutcome) -> Reply {
      Reply(action: action, heard: heard, outcome: self.outcome ?? outcome)
    }
  }

  /// Nil where all of them let the action pass.
  func will(
    _ transaction: DispatchTransaction, action: any ActionType, in store: any StoreType
  ) -> Reply? {
    var changed: Reply?
    for (place, middleware) in middlewares.enumerated() {
      var reply: Reply { changed ?? Reply(action: action, heard: middlewares.count) }
      do {
        switch try middleware.willDispatch(
          transaction: transaction, action: changed?.action ?? action, in: store)
        {
        case .pass:
          break
        case .replace(let replacement):
          try Self.check(replacement, replaces: action)
          changed = reply
          changed?.action = replacement
        case .veto(let reason):
          changed = reply.ending(.vetoed(Veto(middleware: middleware, reason: reason)))
          changed?.heard = place + 1
          return changed
        }
      } catch {
        changed = reply.ending(.failed(Self.failure(of: middleware, error, in: store)))
      }
    }
    return changed
  }

  func did(
    _ transaction: DispatchTransaction, action: any ActionType, in store: any StoreType, heard: Int,
    report: (DispatchIncident) -> Void
  ) {
    for place in (0..<heard).reversed() {
      let middleware = middlewares[place]
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
