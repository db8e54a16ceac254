extension Store {
  /// How the stores ended that this one waits for, in the dispatch whose code reads this.
  ///
  /// In the block of this store's operation, also in its task, and in `apply(_:to:)`: a store that was registered
  /// to run regardless finds here which of its prerequisites failed. Empty elsewhere, and where it waits for
  /// none. In the order in which the stores run; takes time linear in their number.
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
