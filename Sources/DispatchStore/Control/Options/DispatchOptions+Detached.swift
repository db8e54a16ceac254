extension DispatchOptions {
  /// Makes the dispatch inherit neither cancellation nor deadline from the block that makes it.
  ///
  /// By default, cancelling a block's dispatch also cancels the dispatches made in the block, as long as it has not
  /// ended. They also time out at its deadline. Once it is cancelled or timed out, further dispatches of its block do
  /// not begin. Dispatches made by observers, hooks and completions do not inherit, nor do those of stores that run
  /// regardless.
  ///
  /// A `send` is cancelled with its task. A detached `send` is not: the task waits for its end, and a handler that may
  /// suspend runs outside of it. Its own time limit counts: it returns at the deadline, as a `dispatch` ends then, even if
  /// such a handler ignores cancellation and still runs. So do not clean up yet what the handler uses.
  public static var detached: DispatchOptions {
    DispatchOptions().controlled { $0.isDetached = true }
  }
}
