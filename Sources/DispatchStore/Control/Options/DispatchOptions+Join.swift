extension DispatchOptions {
  /// Lets the dispatch join one that is in flight and was made with the same key: an idempotency key.
  ///
  /// One that joins runs nothing and calls no middleware. It ends once the other one has, with the same result: outcomes,
  /// error, replies, and the transaction of the one that ran. Its own completion runs with that result. Cancelling it, or
  /// its own time limit, ends it alone; cancelling the one that runs ends all of them. It has no place in a lane, takes no
  /// unit of a limit, and waits for what its `after` names, too. Where the one in flight waits for it, it ends with
  /// `wouldDeadlock`.
  ///
  /// In flight is one from the call on, delays included, until its stores have ended; so one that joins another that has
  /// timed out, and whose block still runs, ends as timed out. After that the next one of the key runs. Keys compare by type
  /// and value; they are no names. Cost: an entry in a table.
  public static func joined(_ key: some Hashable & Sendable) -> DispatchOptions {
    DispatchOptions().joined(key)
  }

  /// The same options for a dispatch that joins another, as `DispatchOptions.joined(_:)`.
  public func joined(_ key: some Hashable & Sendable) -> DispatchOptions {
    controlled { $0.join = TypedKey(key) }
  }
}
