extension DispatchOptions {
  /// Gives the dispatch a name, by which it is found and cancelled while it is in flight.
  ///
  /// Names compare by type and value. A dispatch may have several, and several dispatches may have one. Cost: an entry
  /// in a table, which the dispatch's end removes.
  public static func named(_ key: some Hashable & Sendable) -> DispatchOptions {
    DispatchOptions().named(key)
  }

  /// The same options with a name, as `DispatchOptions.named(_:)`.
  public func named(_ key: some Hashable & Sendable) -> DispatchOptions {
    controlled { $0.names.append(TypedKey(key)) }
  }
}

extension DispatchOptions {
  /// The last of its names, for messages.
  var lastName: String? { (control as? ControlOptions)?.values.names.last?.description }
}

extension Dispatcher {
  /// Cancels the dispatches in flight that have this name, as `DispatchHandle.cancel()` does.
  ///
  /// A dispatch that another thread makes meanwhile may have come too late. May be called from any thread.
  ///
  /// - Returns: How many there were.
  @discardableResult
  public func cancel(named key: some Hashable & Sendable) -> Int {
    let dispatches = controlTables.names.dispatches(TypedKey(key))
    for dispatch in dispatches { dispatch.cancel() }
    return dispatches.count
  }

  /// The dispatches in flight that have this name, in the order in which they were made.
  ///
  /// Of an exclusive section's dispatches, those of sections that have been left.
  public func dispatches(
    named key: some Hashable & Sendable
  ) -> [DispatchStore::DispatchHandle] {
    controlTables.names.dispatches(TypedKey(key)).map { DispatchHandle($0) }
  }
}
