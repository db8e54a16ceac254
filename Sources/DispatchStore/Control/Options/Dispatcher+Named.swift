extension DispatchOptions {
  /// Gives the dispatch a name, by which you find and cancel it while it is in flight.
  ///
  /// Names compare by type and value. A dispatch may have several names, and several dispatches may share one. Cost:
  /// an entry in a table, removed when the dispatch ends.
  public static func named(_ key: some Hashable & Sendable) -> DispatchOptions {
    DispatchOptions().controlled { [key = TypedKey(key)] in $0.names.append(key) }
  }

  /// The name that was added last, for messages.
  var lastName: String? { (control as? ControlOptions)?.values.names.last?.description }
}

extension Dispatcher {
  /// Cancels the dispatches in flight that have this name, as `DispatchHandle.cancel()` does.
  ///
  /// A dispatch that another thread makes meanwhile may be missed. May be called from any thread.
  ///
  /// - Returns: The number of dispatches found.
  @discardableResult
  public func cancel(named key: some Hashable & Sendable) -> Int {
    let dispatches = controlTables.names.dispatches(TypedKey(key))
    for dispatch in dispatches { dispatch.cancel() }
    return dispatches.count
  }

  /// The dispatches in flight that have this name, in the order in which they were made.
  ///
  /// Dispatches of an exclusive section are included once the section has been left.
  public func dispatches(
    named key: some Hashable & Sendable
  ) -> [DispatchHandle] {
    controlTables.names.dispatches(TypedKey(key)).map { DispatchHandle($0) }
  }
}
