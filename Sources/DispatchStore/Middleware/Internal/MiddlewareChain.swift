/// The middlewares of one dispatch, in order of registration: the fan-out of both hooks.
struct MiddlewareChain {
  let middlewares: [any Middleware]

  /// Whether one of them hears of whole dispatches.
  var isWitnessed: Bool { middlewares.contains { $0 is any DispatchWitness } }

  /// What came of asking all of them about one store, where one did more than let the action pass.
  ///
  /// An object, so that where there is none nothing is copied.
  final class Reply {
    /// What the store is to see.
    fileprivate(set) var action: any ActionType
    /// How many of them heard, and so will hear the end.
    fileprivate(set) var heard: Int
    /// The part's end, where one of them vetoed or failed.
    private(set) var outcome: StoreOutcome?

    fileprivate init(action: any ActionType, heard: Int) {
      self.action = action
      self.heard = heard
    }

    /// The first one who says so decides.
    fileprivate func end(as outcome: StoreOutcome) {
      self.outcome = self.outcome ?? outcome
    }
  }

  /// Nil where all of them let the action pass.
  func will(
    _ transaction: MiddlewareContext, action: any ActionType, in store: any StoreType
  ) -> Reply? {
    var reply: Reply?
    func changed() -> Reply {
      let present = reply ?? Reply(action: action, heard: middlewares.count)
      reply = present
      return present
    }
    for place in middlewares.indices {
      let middleware = middlewares[place]
      do {
        let verdict = try middleware.willDispatch(
          transaction: transaction, action: reply?.action ?? action, in: store)
        switch verdict {
        case .pass:
          continue
        case .replace(let replacement):
          try Self.check(replacement, replaces: action)
          changed().action = replacement
        case .veto(let reason):
          changed().end(as: .vetoed(Veto(middleware: middleware, reason: reason)))
          changed().heard = place + 1
          return reply
        }
      } catch {
        changed().end(as: .failed(Self.failure(of: middleware, error, in: store)))
      }
    }
    return reply
  }

  func did(
    _ transaction: MiddlewareContext, action: any ActionType, in store: any StoreType, heard: Int
  ) {
    var place = heard
    while place > 0 {
      place -= 1
      let middleware = middlewares[place]
      do {
        try middleware.didDispatch(transaction: transaction, action: action, in: store)
      } catch {
        let message = "\(type(of: middleware)) threw in didDispatch of \(transaction.id): \(error)"
        transaction.dispatcher.report(
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
