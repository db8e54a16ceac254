extension Dispatcher {
  /// Registers an interceptor for all stores, registered before or later, or for one.
  ///
  /// Called for what is dispatched from then on. One that is registered already, for the same store or for all,
  /// stays as it is. It has a place among the middlewares: its calls are made where `didDispatch` of one that
  /// is registered now would be.
  ///
  /// From the dispatch of an action to its end a snapshot of the store's model is kept. So the action's commits
  /// copy what the model stores by copy-on-write: for a large model made of standard arrays and dictionaries that
  /// is linear in their size. Keep interceptors for small stores there, or for tests and diagnosis.
  ///
  /// - Parameters:
  ///   - interceptor: The interceptor.
  ///   - store: The only store that it intercepts, not kept alive; nil for all.
  public func register(interceptor: any Interceptor, for store: AnyStore? = nil) {
    let middleware = InterceptorMiddleware(interceptor, for: store)
    register(middleware: middleware)
    // Of several threads that register the same one, all see the same order, and the first one stays.
    let first = middlewares.first { ($0 as? InterceptorMiddleware)?.isSame(as: middleware) == true }
    if first !== middleware { unregister(middleware: middleware) }
  }

  /// Unregisters an interceptor, for whichever stores; actions under way are still intercepted.
  ///
  /// - Returns: Whether it was registered.
  @discardableResult
  public func unregister(interceptor: any Interceptor) -> Bool {
    var isFound = false
    for case let middleware as InterceptorMiddleware in middlewares
    where middleware.interceptor === interceptor {
      isFound = unregister(middleware: middleware) || isFound
    }
    return isFound
  }

  /// The registered interceptors, in order of registration; once for each registration.
  public var interceptors: [any Interceptor] {
    middlewares.compactMap { ($0 as? InterceptorMiddleware)?.interceptor }
  }
}
