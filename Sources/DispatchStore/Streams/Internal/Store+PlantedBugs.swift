extension Store {
  /// `lostBeforeSubscription`: the observer keeps the present model, and is added later.
  func keepPresentModelBefore(_ observer: ObserverRecord) {
    withModel { model in
      var kept = KeptCommit()
      withUnsafePointer(to: model) { model in
        withUnsafePointer(to: nil as Action?) { action in
          observer.keep(
            CommitInProgress(
              model: model, action: action, version: storage.version, owner: nil,
              isPresentModel: true), &kept)
        }
      }
    }
  }
}
