import DispatchStore

/// Calls a closure at the end of each dispatch.
final class EndHook: Middleware {
  let hooks: MiddlewareHooks
  private let body: @Sendable (DispatchInfo, DispatchResult) -> Void

  init(
    _ hooks: MiddlewareHooks = .all,
    _ body: @escaping @Sendable (DispatchInfo, DispatchResult) -> Void
  ) {
    (self.hooks, self.body) = (hooks, body)
  }

  func dispatchDidEnd(_ dispatch: DispatchInfo, result: DispatchResult) {
    body(dispatch, result)
  }
}
