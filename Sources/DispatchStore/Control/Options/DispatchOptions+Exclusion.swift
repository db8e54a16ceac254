extension DispatchOptions {
  /// Lets the dispatch run while no other one runs that has the same key: in each mode, lane and task.
  ///
  /// A dispatch takes its keys in its turn, right before it starts: all of them at once, so that two never hold what the
  /// other one needs. It has them until its stores have ended, also in the pauses of a retry, and after a deadline; its
  /// completion still runs with them. Meanwhile another one that needs one of them waits, and keeps its place in its
  /// lane. The first that came has them next; one that waits for several goes before those that come later for one of
  /// these, so that it does not wait for ever.
  ///
  /// A wait that would not end is refused with `wouldDeadlock`: inside a dispatch that has the key, `send`, `.sync` and
  /// awaiting a dispatch that needs it. One that is only dispatched there runs afterwards. Keys belong to the dispatcher,
  /// and compare by type and value. While the dispatcher's queue is suspended, a dispatch whose turn it is for a key
  /// keeps that turn. Cost: two locks; one that waits needs no thread, but for a `.sync` caller's. A wait inside a dispatch
  /// for a lane is checked against each of those queued there that have keys.
  public static func exclusive(_ key: some Hashable & Sendable) -> DispatchOptions {
    DispatchOptions().exclusive(key)
  }

  /// The same options with one more key, as `DispatchOptions.exclusive(_:)`.
  public func exclusive(_ key: some Hashable & Sendable) -> DispatchOptions {
    controlled { $0.exclusionKeys.append(TypedKey(key)) }
  }
}
