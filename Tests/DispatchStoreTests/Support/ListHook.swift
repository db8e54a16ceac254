import DispatchStore

/// Calls a closure when a list begins, before anything else of it.
final class ListHook: Middleware {
  let hooks = MiddlewareHooks.dispatches
  private let body: @Sendable (DispatchInfo) -> Void

  init(_ body: @escaping @Sendable (DispatchInfo) -> Void) {
    self.body = body
  }

  func dispatchWillBegin(_ dispatch: DispatchInfo) {
    if dispatch.isSequence { body(dispatch) }
  }
}
