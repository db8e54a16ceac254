extension Store {
  /// The outcomes of the stores that this one waits for, in the current dispatch, in the order in which the stores
  /// run.
  ///
  /// Read it in the block of this store's operation, in the block's task, or in `apply(_:to:)`. A store that is
  /// registered to run regardless learns here which of its prerequisites failed. Elsewhere, and without
  /// prerequisites, it is empty. Access takes time linear in their number.
  public var prerequisiteResults: [StoreResult] {
    let thread = ThreadState.current
    if let run = thread.run { return run.pointee.prerequisiteResults(of: self) }
    guard let storeRun = DispatchContext.storeRun(on: thread), storeRun.entry.isOf(self)
    else {
      return []
    }
    return storeRun.prerequisiteResults
  }
}
