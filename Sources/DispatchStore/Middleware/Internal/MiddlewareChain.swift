/// The middlewares of one dispatch, in order of registration: the fan-out of both hooks.
final class MiddlewareChain: Sendable {
  let middlewares: [any Middleware]
  /// Those of them that are called for whole dispatches too.
  let wholes: [any DispatchMiddleware]

  init(_ middlewares: [any Middleware]) {
    self.middlewares = middlewares
    wholes = middlewares.compactMap { $0 as? any DispatchMiddleware }
  }

  /// The verdicts of all of them about one store, where one did more than let the action pass.
  ///
  /// An object, so that nothing is copied where there is none.
  final class Reply {
    /// The action that the store gets.
    fileprivate(set) var action: any ActionType
    /// How many of them were called, and so get `didDispatch`.
    fileprivate(set) var notifiedCount: Int
    /// The end of the store's part, where one of them vetoed or failed.
    private(set) var outcome: StoreOutcome?

    fileprivate init(action: any ActionType, notifiedCount: Int) {
      self.action = action
      self.notifiedCount = notifiedCount
    }

    /// The first outcome stays.
    fileprivate func end(as outcome: StoreOutcome) {
      self.outcome = self.outcome ?? outcome
    }
  }

  /// Nil where all of them let the action pass.
  func willDispatch(
    _ context: MiddlewareContext, action: any ActionType, in store: any StoreType
  ) -> Reply? {
    var reply: Reply?
    func changed() -> Reply {
      let present = reply ?? Reply(action: action, notifiedCount: middlewares.count)
      reply = present
      return present
    }
    for index in middlewares.indices {
      let middleware = middlewares[index]
      do {
        let verdict = try middleware.willDispatch(
          transaction: context, action: reply?.action ?? action, in: store)
        switch verdict {
        case .pass:
          continue
        case .replace(let replacement):
          try Self.check(replacement, replaces: action)
          changed().action = replacement
        case .veto(let reason):
          changed().end(as: .vetoed(Veto(middleware: middleware, reason: reason)))
          changed().notifiedCount = index + 1
          return reply
        }
      } catch {
        changed().end(as: .failed(Self.failure(of: middleware, error, in: store)))
      }
    }
    return reply
  }

  func didDispatch(
    _ context: MiddlewareContext, action: any ActionType, in store: any StoreType,
    notifiedCount: Int
  ) {
    var index = notifiedCount
    while index > 0 {
      index -= 1
      let middleware = middlewares[index]
      do {
        try middleware.didDispatch(transaction: context, action: action, in: store)
      } catch {
        let message = "\(type(of: middleware)) threw in didDispatch of \(context.id): \(error)"
        context.dispatcher.report(
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
