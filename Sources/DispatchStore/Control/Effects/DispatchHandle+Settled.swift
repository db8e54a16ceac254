extension DispatchHandle {
  /// Waits until the dispatch and everything that follows from it have ended.
  ///
  /// That includes the runs of its effects, their dispatches, the effects of these, and so on. Then `resultIfEnded`
  /// has the dispatch's own result.
  ///
  /// Dispatches made in blocks of these dispatches are included, too, unless they are `detached`; those of hooks,
  /// observers and completions are not. Cancelling the task that awaits it ends neither the wait nor the awaited
  /// work. Do not await it in an effect of the dispatch itself, nor in an operation that holds a lane which such an
  /// effect needs. These would wait for ever, and this is not refused.
  public func settled() async {
    _ = await result
    // A dispatch that has not ended would deadlock with its caller.
    guard let dispatch, dispatch.hasEnded else { return }
    await TaskWait.suspend { dispatch.whenSettled($0) }
    // Kept alive, since the work that goes on is counted on its account while it exists.
    withExtendedLifetime(dispatch) {}
  }

  /// Cancels the dispatch as `cancel()`, with the runs of its effects, their dispatches, and so on.
  ///
  /// May be called after the dispatch's end. No effect follows it from now on. A cancelled run may go on for a while,
  /// and `settled()` waits for it. `cancel()` alone concerns no effect.
  public func cancelWithEffects() {
    dispatch?.cancelWithFollowers()
  }
}
