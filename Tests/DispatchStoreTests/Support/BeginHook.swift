import DispatchStore

/// Calls a closure at the beginning of each dispatch, which has its snapshot of the registry by then.
final class BeginHook: Middleware {
  let hooks = MiddlewareHooks.dispatches
  private let body: @Sendable () -> Void

  init(_ body: @escaping @Sendable () -> Void) {
    self.body = body
  }

  func dispatchWillBegin(_ dispatch: DispatchInfo) { body() }
}
