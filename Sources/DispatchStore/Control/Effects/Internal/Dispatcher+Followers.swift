extension Dispatcher {
  /// Registers a follower of dispatches of some action types, for dispatches made from now on.
  func register(_ follower: any DispatchFollower) {
    changeRegistry(.register) { $0.insert(follower) }
    // Work under way may register one with a closed dispatcher, which has told only those that it had.
    if isClosed { follower.dispatcherClosed() }
  }

  /// Unregisters a follower.
  ///
  /// Returns false if it was not registered.
  func unregister(_ follower: any DispatchFollower) -> Bool {
    changeRegistry(.unregister) { $0.remove(follower) }
  }
}
