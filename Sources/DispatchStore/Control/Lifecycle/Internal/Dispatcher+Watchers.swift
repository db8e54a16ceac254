extension Dispatcher {
  /// The watcher of a type.
  func watcher<Watcher: DispatchWatcher>(_ type: Watcher.Type) -> Watcher? {
    registry.withLock { $0.watcher(type) }
  }

  /// Sets the watcher of a type for dispatches made from now on, or keeps the present one, if any.
  ///
  /// - Returns: The former watcher.
  @discardableResult
  func setWatcher<Watcher: DispatchWatcher>(
    _ watcher: Watcher?, keepingPresent keepsPresent: Bool = false
  ) -> Watcher? {
    changeRegistry(.register) { registry in
      if keepsPresent, let present = registry.watcher(Watcher.self) { return present }
      return registry.setWatcher(watcher)
    }
  }
}
