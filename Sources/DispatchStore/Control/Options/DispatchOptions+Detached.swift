extension DispatchOptions {
  /// Lets the dispatch inherit neither cancellation nor deadline from the block that makes it.
  ///
  /// What a block dispatches is cancelled with the dispatch of that block, also later, as long as that has not ended, and
  /// times out at its deadline. Once it is cancelled or timed out, what its block still dispatches does not begin. This
  /// does not concern what observers, hooks and completions dispatch, nor stores that run regardless. What a task sends
  /// is cancelled with that task; a detached `send` is not, and runs to its end outside of the task, which waits for it.
  /// Its own time limit counts.
  public static var detached: DispatchOptions { DispatchOptions().detached }

  /// The same options for a dispatch that inherits neither, as `DispatchOptions.detached`.
  public var detached: DispatchOptions { controlled { $0.isDetached = true } }
}
