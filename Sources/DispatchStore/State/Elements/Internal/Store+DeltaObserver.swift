extension Store {
  /// Adds an observer of deltas, and delivers the current content first if `initial` is true.
  @usableFromInline
  func add(_ observer: DeltaObserver, initial: Bool) -> ObserverToken {
    begin(observer, initial: initial)
    return ObserverToken { [weak storage] in
      observer.cancel()
      storage?.end(observer)
    }
  }

  /// Adds an observer of deltas, until `end(_:)` of the store's storage removes it.
  func begin(_ observer: DeltaObserver, initial: Bool) {
    let thread = ThreadState.current
    ExclusiveSection.check(storage, "observed", on: thread)
    yieldPoint(.observe, on: thread, identifier)
    storage.lockToRead(on: thread)
    let isDue = observer.begin(storage.model, version: storage.version, isInitial: initial)
    let turn = storage.unlockAdding(
      observer, initial ? KeptChange(version: storage.version) : nil, on: thread)
    if isDue { observer.scheduleCall() }
    storage.carryOut(turn, on: thread)
  }
}

extension ModelStorage {
  /// Cancels an observer of deltas, and removes it.
  func end(_ observer: DeltaObserver) {
    observer.cancel()
    afterSection { $0.remove(observer) }
  }

  private func remove(_ observer: DeltaObserver) {
    let thread = ThreadState.current
    lockToRelease(on: thread)
    observer.end(model)
    withObserversLocked { $0.remove(observer) }
    unlockUnchanged(on: thread)
  }
}
