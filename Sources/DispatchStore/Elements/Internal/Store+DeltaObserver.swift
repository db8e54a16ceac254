extension Store {
  /// Adds an observer of deltas, and lets it begin with the present content where it is to.
  @usableFromInline
  func add(_ observer: DeltaObserver, initial: Bool) -> ObserverToken {
    let thread = ThreadState.current
    ExclusiveSection.check(storage, "observed", on: thread)
    yieldPoint(.observe, on: thread, identifier)
    storage.lockToRead(on: thread)
    let isDue = observer.begin(storage.model, version: storage.version, isInitial: initial)
    let turn = storage.unlockAdding(
      observer, initial ? ObservedChange(version: storage.version) : nil, on: thread)
    if isDue { observer.scheduleCall() }
    storage.carryOut(turn, on: thread)
    return ObserverToken { [weak storage] in
      observer.cancel()
      storage?.afterSection { $0.remove(observer) }
    }
  }
}

extension ModelStorage {
  fileprivate func remove(_ observer: DeltaObserver) {
    let thread = ThreadState.current
    lockToRelease(on: thread)
    observer.end(model)
    withObserversLocked { $0.remove(observer) }
    unlockUnchanged(on: thread)
  }
}
