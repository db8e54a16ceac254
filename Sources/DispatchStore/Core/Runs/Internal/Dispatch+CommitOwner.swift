// The owner of commits by the store that runs inline.
extension Dispatch: CommitOwner {
  @usableFromInline
  var dispatchID: DispatchID { id }

  @usableFromInline
  func action<Model, Action>(in store: Store<Model, Action>) -> Action? {
    guard let run = ThreadState.current.run, run.pointee.isOf(self) else { return nil }
    return run.pointee.action(in: store)
  }

  @usableFromInline
  var waiting: Dispatch? { self }

  @usableFromInline
  func savesNext(_ storage: StoreStorage) -> Bool { false }

  @usableFromInline
  var undeliveredCount: Int { details?.undeliveredCount ?? 0 }

  @usableFromInline
  func commitDeferred() {
    // The store's notifier binds them when it makes the delivery.
    if let run = ThreadState.current.run, run.pointee.isOf(self) {
      run.pointee.captureTaskLocals(for: self)
    }
    makeDetails().commitDeferred()
  }

  @usableFromInline
  func commitDelivered() {
    details?.commitDelivered()
  }
}
