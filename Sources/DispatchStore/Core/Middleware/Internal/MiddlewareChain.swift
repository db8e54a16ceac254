/// A registered middleware, with the hooks that it has said.
final class RegisteredMiddleware: Sendable {
  let middleware: any Middleware
  let hasStoreHooks: Bool
  let hasDispatchHooks: Bool

  /// Asks the middleware, so no lock may be held.
  init(_ middleware: any Middleware) {
    self.middleware = middleware
    let hooks = middleware.hooks
    hasStoreHooks = hooks != .dispatches
    hasDispatchHooks = hooks != .stores
  }
}

/// The middlewares of one dispatch, in order of registration, its watcher and followers.
///
/// Calls all of them for each hook.
final class MiddlewareChain: @unchecked Sendable {
  // because all of its properties are constants, and so are the objects that `hooks` points to, which `registered` keeps
  let registered: [RegisteredMiddleware]
  /// The middlewares that are called for whole dispatches.
  let wholes: [any Middleware]
  /// The object that watches dispatches in flight; nil for most.
  let watcher: (any DispatchWatcher)?
  /// The followers of the route's action type, in order of registration.
  let followers: [any DispatchFollower]
  /// Whether whole dispatches have hooks, a watcher or followers.
  let hasWholes: Bool
  /// Whether stores have hooks or a watcher, which need to know when a store starts and ends.
  let followsStores: Bool
  /// The middlewares that are called for stores, without writing a reference count that all threads share.
  private let hooks: UnsafeMutablePointer<Unmanaged<RegisteredMiddleware>>
  /// The number of middlewares that are called for stores.
  let count: Int

  init(
    _ registered: [RegisteredMiddleware] = [], watcher: (any DispatchWatcher)? = nil,
    followers: [any DispatchFollower] = []
  ) {
    self.registered = registered
    self.watcher = watcher
    self.followers = followers
    let hooked = registered.filter(\.hasStoreHooks)
    wholes = registered.lazy.filter(\.hasDispatchHooks).map(\.middleware)
    hasWholes = !wholes.isEmpty || watcher != nil || !followers.isEmpty
    followsStores = !hooked.isEmpty || watcher != nil
    count = hooked.count
    hooks = .allocate(capacity: count)
    for (index, middleware) in hooked.enumerated() {
      (hooks + index).initialize(to: .passUnretained(middleware))
    }
  }

  /// Whether there is nothing to call.
  var isEmpty: Bool { !hasWholes && !followsStores }

  private func middleware(at index: Int) -> any Middleware {
    hooks[index]._withUnsafeGuaranteedRef(\.middleware)
  }

  deinit {
    hooks.deallocate()
  }

  /// The verdicts of all middlewares about one store, if one of them did more than let the action pass.
  ///
  /// A class, so that the common case copies nothing.
  final class Reply {
    private let dispatched: any ActionType
    /// The action by which a middleware has replaced the dispatched one.
    fileprivate(set) var replacement: (any ActionType)?
    /// The number of middlewares that were called, and therefore get `didDispatch`.
    fileprivate(set) var notifiedCount: Int
    /// The outcome of the store run, if a middleware vetoed or failed.
    private(set) var outcome: StoreOutcome?

    fileprivate init(action: any ActionType, notifiedCount: Int) {
      (dispatched, self.notifiedCount) = (action, notifiedCount)
    }

    /// The action that the store receives.
    var action: any ActionType { replacement ?? dispatched }

    /// Sets the outcome, unless there is one.
    fileprivate func end(as outcome: StoreOutcome) {
      self.outcome = self.outcome ?? outcome
    }
  }

  /// Calls `willDispatch` of all middlewares.
  ///
  /// Returns nil if all of them let the action pass.
  func willDispatch(
    _ info: DispatchInfo, action: any ActionType, in store: any StoreType
  ) -> Reply? {
    var reply: Reply?
    func changed() -> Reply { reply.madeIfNil(Reply(action: action, notifiedCount: count)) }
    for index in 0..<count {
      do {
        let verdict = try hooks[index]._withUnsafeGuaranteedRef {
          if let reply {
            try $0.middleware.willDispatch(transaction: info, action: reply.action, in: store)
          } else {
            try $0.middleware.willDispatch(transaction: info, action: action, in: store)
          }
        }
        switch verdict {
        case .pass:
          continue
        case .replace(let replacement):
          try Self.check(replacement, replaces: action)
          changed().replacement = replacement
        case .veto(let reason):
          changed().end(as: .vetoed(Veto(middleware: middleware(at: index), reason: reason)))
          changed().notifiedCount = index + 1
          return reply
        }
      } catch {
        changed().end(as: .failed(Self.failure(of: middleware(at: index), error, in: store)))
      }
    }
    return reply
  }

  /// Calls `didDispatch` in reverse order.
  ///
  /// - Parameter notifiedCount: The number of middlewares whose `willDispatch` was called.
  func didDispatch(
    _ info: StoreRunInfo, action: any ActionType, in store: any StoreType,
    notifiedCount: Int
  ) {
    var index = notifiedCount
    while index > 0 {
      index -= 1
      do {
        try hooks[index]._withUnsafeGuaranteedRef {
          try $0.middleware.didDispatch(transaction: info, action: action, in: store)
        }
      } catch {
        let name = "\(type(of: middleware(at: index)))"
        let message = "\(name) threw in didDispatch of \(info.dispatch.id): \(error)"
        info.dispatch.dispatcher.report(.middlewareFailed, of: store.identifier, message)
      }
    }
  }

  private static func check(
    _ replacement: any ActionType, replaces action: any ActionType
  ) throws {
    let (new, former) = (type(of: replacement), type(of: action))
    if new == former {
      guard let wrapped = replacement as? any WrappedAction,
        let other = action as? any WrappedAction
      else { return }
      // So far only the wrappings are of one type: the actions inside have to be, too.
      return try check(wrapped.base, replaces: other.base)
    }
    throw DispatchError(
      code: .middlewareFailed,
      message: """
        It replaced an action of type \(former) by one of type \(new). \
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
