/// The middlewares of one dispatch, in order of registration: the fan-out of both hooks.
struct MiddlewareChain {
  let middlewares: [any Middleware]

  /// What came of asking all of them about one store, where one did more than let the action pass.
  ///
  /// An object, so that where there is none nothing is copied.
  final class Reply {
    /// What the store is to see.
    fileprivate(set) var action: any ActionType
    /// How many of them heard, and so will hear the end.
    fileprivate(set) var heard: Int
    /// The part's end, where one of them vetoed or failed: the first one who did decides that.
    fileprivate(set) var outcome: StoreOutcome?

    fileprivate init(action: any ActionType, heard: Int) {
      self.action = action
      self.heard = heard
    }
  }

  /// Nil where all of them let the action pass.
  func will(
    _ transaction: DispatchTransaction, action: any ActionType, in store: any StoreType
  ) -> Reply? {
    var reply: Reply?
    for place in middlewares.indices {
      let middleware = middlewares[place]
      do {
        let verdict = try middleware.willDispatch(
          transaction: transaction, action: reply?.action ?? action, in: store)
        if case .pass = verdict { continue }
        let changed = reply ?? Reply(action: action, heard: middlewares.count)
        reply = changed
        switch verdict {
        case .pass:
          break
        case .replace(let replacement):
          try Self.check(replacement, replaces: action)
          changed.action = replacement
        case .veto(let reason):
          changed.outcome =
            changed.outcome ?? .vetoed(Veto(middleware: middleware, reason: reason))
          changed.heard = place + 1
          return changed
        }
      } catch {
        let failed = reply ?? Reply(action: action, heard: middlewares.count)
        failed.outcome = failed.outcome ?? .failed(Self.failure(of: middleware, error, in: store))
        reply = failed
      }
    }
    return reply
  }

  func did(
    _ transaction: DispatchTransaction, action: any ActionType, in store: any StoreType, heard: Int,
    report: (DispatchIncident) -> Void
  ) {
    var place = heard
    while place > 0 {
      place -= 1
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
