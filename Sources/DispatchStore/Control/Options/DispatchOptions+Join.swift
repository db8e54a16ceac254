extension DispatchOptions {
  /// Lets the dispatch join one in flight that was made with the same idempotency key.
  ///
  /// A dispatch that joins runs nothing and calls no middleware. It ends once the other one has, with the same
  /// result: outcomes, error, replies, and the identifier of the one that ran. Its own completion runs with that
  /// result. Cancelling it, or its own time limit, ends it alone; cancelling the one that runs ends all of them. A
  /// joining dispatch has no place in a lane and takes no unit of a limit. It also waits for the dispatches that its
  /// `after` names. If the dispatch in flight waits for the joining one, the latter ends with `wouldDeadlock`.
  ///
  /// A dispatch is in flight from the call on, delays included, until its stores have ended. So a dispatch that joins
  /// a timed-out one whose block still runs ends as timed out. After that the next dispatch of the key runs. Keys
  /// compare by type and value; they are no names. Cost: an entry in a table.
  public static func joinsInFlight(_ key: some Hashable & Sendable) -> DispatchOptions {
    DispatchOptions().controlled { $0.join = TypedKey(key) }
  }

}
