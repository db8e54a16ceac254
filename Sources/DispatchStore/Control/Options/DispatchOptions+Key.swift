extension DispatchOptions {
  /// Cancels the dispatches in flight that were made with the same key: only the latest one goes on.
  ///
  /// The older dispatches are cancelled as by `DispatchHandle.cancel()`, once the new one has its place. Keys compare
  /// by type and value; they are no names. A dispatch made in the block of an older one is cancelled with it, unless
  /// it is `detached`. If you pass several such keys, the last one counts. Cost: an entry in a table.
  public static func cancelsPrevious(_ key: some Hashable & Sendable) -> DispatchOptions {
    DispatchOptions().controlled { [key = TypedKey(key)] in $0.latest = key }
  }

  /// Skips the dispatch while another one is in flight that was made with the same key.
  ///
  /// A skipped dispatch runs nothing and calls no middleware. Its result has a `DispatchError` with the code
  /// `skipped`, and its completion runs. A dispatch that has timed out is in flight until its block has ended. A repeat
  /// of an idempotency key gets its result, and is not skipped. Keys compare by type and value; if you pass several such
  /// keys, the last one counts. Cost: an entry in a table.
  public static func skippedIfInFlight(_ key: some Hashable & Sendable) -> DispatchOptions {
    DispatchOptions().controlled { [key = TypedKey(key)] in $0.single = key }
  }
}

extension DispatchError {
  static func skipped(_ callSite: CallSite, for other: CallSite, _ key: TypedKey) -> DispatchError {
    skipped(
      callSite, for: other, ": one with the key \(key.description), made at \(other), is in flight")
  }
}
