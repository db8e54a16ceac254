extension Dispatcher {
  /// Closes the dispatcher: from now on only work under way may dispatch, or nothing if `isAtOnce` is true.
  func endAcceptance(isAtOnce: Bool = false) {
    changeRegistry(.unregister) { registry in
      if isAtOnce { registry.end() } else { registry.close() }
      // Dispatches under way keep the routes that they use.
      registry.routes.removeAll()
    }
    for follower in registry.withLock(\.followers) { follower.dispatcherClosed() }
    for attachment in presentAttachments { attachment.closed(self) }
  }

  /// Ends the current generation, and passes the last one to a closure before all of its dispatches can have ended.
  ///
  /// Returns false if no dispatch is under way. A closed dispatcher then accepts none.
  func endGeneration(_ body: (DispatchGeneration) -> Void) -> Bool {
    let generation = changeRegistry(.unregister) { registry in
      let generation = registry.endGeneration()
      if let generation { body(generation) }
      return generation
    }
    return generation != nil
  }

  /// Pauses the dispatcher: until `resume` only work under way may dispatch, and nothing once that has ended.
  ///
  /// Returns false if it is paused already.
  func pause() -> Bool {
    changeRegistry(.unregister) { registry in
      guard registry.pause == .open else { return false }
      registry.beginPause()
      registry.routes.removeAll()
      return true
    }
  }

  func endPause() {
    changeRegistry(.register) { $0.endPause() }
    for follower in registry.withLock(\.followers) { follower.pauseEnded(of: self) }
  }
}
