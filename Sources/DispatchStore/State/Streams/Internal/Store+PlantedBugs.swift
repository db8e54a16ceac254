extension Store {
  /// Implements the planted bug `lostBeforeSubscription`: the observer gets the current model before it is added.
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
