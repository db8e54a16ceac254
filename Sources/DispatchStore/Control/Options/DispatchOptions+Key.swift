extension DispatchOptions {
  /// Cancels the dispatches in flight that were made with the same key: only the latest one goes on.
  ///
  /// The older ones are cancelled as by `DispatchHandle.cancel()`, once the new one has its place. Keys compare by type
  /// and value; they are no names. One that is made in a block of an older one is cancelled with that, unless it is
  /// `detached`. Of several such keys the last one counts. Cost: an entry in a table.
  public static func latest(_ key: some Hashable & Sendable) -> DispatchOptions {
    DispatchOptions().latest(key)
  }

  /// The same options for the latest dispatch of a key, as `DispatchOptions.latest(_:)`.
  public func latest(_ key: some Hashable & Sendable) -> DispatchOptions {
    controlled { $0.latest = TypedKey(key) }
  }

  /// Skips the dispatch while another one is in flight that was made with the same key.
  ///
  /// A dispatch that is skipped runs nothing, and calls no middleware; its result has a `DispatchError` with the code
  /// `skipped`, and its completion runs. One that has timed out is in flight until its block has ended. Keys compare by
  /// type and value; of several such keys the last one counts. Cost: an entry in a table.
  public static func unlessInFlight(_ key: some Hashable & Sendable) -> DispatchOptions {
    DispatchOptions().unlessInFlight(key)
  }

  /// The same options for a dispatch that is skipped, as `DispatchOptions.unlessInFlight(_:)`.
  public func unlessInFlight(_ key: some Hashable & Sendable) -> DispatchOptions {
    controlled { $0.single = TypedKey(key) }
  }
}

extension DispatchError {
  static func skipped(_ callSite: CallSite, for other: CallSite, _ key: TypedKey) -> DispatchError {
    DispatchError(
      code: .skipped,
      message: """
        The dispatch at \(callSite) was skipped: one with the key \(key.description), made at \(other), is in flight.
        """,
      callSites: [callSite, other])
  }
}
