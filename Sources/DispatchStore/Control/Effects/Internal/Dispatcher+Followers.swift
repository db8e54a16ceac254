extension Dispatcher {
  /// Registers a follower of dispatches of some action types, for dispatches made from now on.
  func register(_ follower: any DispatchFollower) {
    changeRegistry(.register) { $0.insert(follower) }
  }

  /// Unregisters a follower.
  ///
  /// Returns false if it was not registered.
  func unregister(_ follower: any DispatchFollower) -> Bool {
    changeRegistry(.unregister) { $0.remove(follower) }
  }
}
