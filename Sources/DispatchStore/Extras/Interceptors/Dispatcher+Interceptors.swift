extension Dispatcher {
  /// Registers an interceptor for all stores, whenever these are registered, or for one store.
  ///
  /// The interceptor is called for dispatches from then on. A repeated registration for the same store, or for all,
  /// has no effect. An interceptor has a place among the middlewares: it is called when `didDispatch` of a middleware
  /// registered now would be.
  ///
  /// From an action's dispatch to its end, a snapshot of the store's model is retained. So the action's commits
  /// trigger copy-on-write. For a large model of standard arrays and dictionaries, that takes time linear in their
  /// size. Use interceptors for small stores, or for tests and diagnosis.
  ///
  /// - Parameters:
  ///   - interceptor: The interceptor.
  ///   - store: The only store to intercept, not kept alive; nil for all stores.
  public func register(interceptor: any Interceptor, for store: AnyStore? = nil) {
    let middleware = InterceptorMiddleware(interceptor, for: store)
    register(middleware: middleware)
    // If several threads register it at once, all see the same order, and the first registration stays.
    let first = middlewares.first { ($0 as? InterceptorMiddleware)?.isSame(as: middleware) == true }
    if first !== middleware { unregister(middleware: middleware) }
  }

  /// Unregisters an interceptor for all its stores; actions under way are still intercepted.
  ///
  /// - Returns: Whether the interceptor was registered.
  @discardableResult
  public func unregister(interceptor: any Interceptor) -> Bool {
    var isFound = false
    for case let middleware as InterceptorMiddleware in middlewares
    where middleware.interceptor === interceptor {
      isFound = unregister(middleware: middleware) || isFound
    }
    return isFound
  }

  /// The registered interceptors, in order of registration, once for each registration.
  public var interceptors: [any Interceptor] {
    middlewares.compactMap { ($0 as? InterceptorMiddleware)?.interceptor }
  }
}
