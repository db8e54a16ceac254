extension DispatchHandle {
  /// Waits until the dispatch has ended, and all that follows from it: the runs of its effects, what these have
  /// dispatched, the effects of that, and so on; then `resultIfEnded` has the dispatch's own result.
  ///
  /// What blocks of these dispatches have dispatched is waited for, too, unless it is `detached`; not what hooks,
  /// observers and completions have. Cancelling the task that awaits it ends neither the wait nor what it waits for.
  /// Not to be awaited by an effect of the dispatch itself, nor by an operation that holds a lane which such an effect
  /// needs: these would wait for ever, and this is not refused.
  public var settled: Void {
    get async {
      _ = await result
      // One that has not ended is in a ring of waits.
      guard let dispatch, dispatch.hasEnded else { return }
      let wait = TaskWait.begin()
      await withUnsafeContinuation { continuation in
        dispatch.whenSettled { continuation.resume() }
      }
      wait?.end()
      // What goes on is counted on its account while there is one.
      withExtendedLifetime(dispatch) {}
    }
  }

  /// Cancels the dispatch as `cancel()`, and the runs of its effects, with what these have dispatched, and so on.
  ///
  /// Also after its end. No effect follows it from now on. A run that is cancelled may go on for a while, and `settled`
  /// waits for it. `cancel()` alone concerns no effect.
  public func cancelWithEffects() {
    dispatch?.cancelWithFollowers()
  }
}
