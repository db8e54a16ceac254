extension DispatchOptions {
  /// Runs the dispatch while no other one with the same key runs, in any mode, lane or task.
  ///
  /// A dispatch takes its keys in its turn, right before it starts. It takes all of them at once, so that two
  /// dispatches never hold keys that the other one needs. It holds them until its stores have ended, also in the
  /// pauses of a retry, and after a deadline. Its completion still runs with them.
  ///
  /// Another dispatch that needs one of the keys waits, and keeps its place in its lane. The first that came has them
  /// next. A dispatch that waits for several keys goes before later ones that need one of these, so that it does not
  /// wait for ever.
  ///
  /// A wait that would not end is refused with `wouldDeadlock`: inside a dispatch that has the key, `send`, `.sync`
  /// and awaiting a dispatch that needs it. A dispatch that is only made there runs afterwards. Keys belong to the
  /// dispatcher, and compare by type and value. While the dispatcher's queue is suspended, a dispatch whose turn it
  /// is for a key keeps that turn.
  ///
  /// Cost: two locks. Waiting needs no thread, except a `.sync` caller's. A wait for a lane inside a dispatch is
  /// checked against each dispatch with keys that is queued there.
  public static func exclusive(_ key: some Hashable & Sendable) -> DispatchOptions {
    DispatchOptions().controlled { [key = TypedKey(key)] in $0.exclusionKeys.append(key) }
  }
}
