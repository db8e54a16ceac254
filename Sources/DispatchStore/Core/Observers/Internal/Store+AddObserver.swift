// Adding observers; `StateSource` has the public interface.
extension Store {
  @usableFromInline
  func observe(_ observer: ObserverRecord, initial: Bool) -> ObserverToken {
    add(observer, initial: initial)
    return ObserverToken { [weak storage] in observer.end(in: storage) }
  }

  /// Adds an observer, until `end(in:)`.
  func add(_ observer: ObserverRecord, initial: Bool) {
    let thread = ThreadState.current
    ExclusiveSection.check(storage, "observed", on: thread)
    yieldPoint(.observe, on: thread, identifier)
    storage.lockToRead(on: thread)
    observer.begin(with: storage.model, version: storage.version)
    let present = initial ? presentModel(for: observer) : nil
    let kept = initial ? keepPresentModel(observer) : KeptCommit()
    if isPlanted(.lostBeforeSubscription) {
      storage.unlockUnchanged(on: thread)
      storage.lockToRead(on: thread)
    }
    let turn = storage.unlockAdding(observer, present, on: thread)
    storage.carryOut(turn, kept, on: thread)
  }

  /// Returns the current model as a change.
  ///
  /// Called in the exclusive section.
  private func presentModel(for observer: ObserverRecord) -> KeptChange {
    guard observer.needsModel else { return KeptChange(version: storage.version) }
    return TypedChange<Model, Action>(
      ObservedModel(
        storage.model.pointee, version: storage.version, action: nil, dispatchID: nil,
        isInitial: true))
  }

  /// Lets an observer keep its part of the current model.
  private func keepPresentModel(_ observer: ObserverRecord) -> KeptCommit {
    var kept = KeptCommit()
    withUnsafePointer(to: nil as Action?) {
      observer.keep(
        CommitInProgress(
          model: storage.model, action: $0, version: storage.version, owner: nil,
          isPresentModel: true), &kept)
    }
    return kept
  }
}
