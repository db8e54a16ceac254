import Foundation

/// A dispatch that runs the operation waits for its dependencies without blocking a thread.
extension ActionOperation {
  /// Whether it is ready; if not, `onReady` is called once, on any thread, when it becomes ready.
  func isReady(orElse onReady: @escaping @Sendable () -> Void) -> Bool {
    guard withState({ $0.hasDependencies }) else { return true }
    let unfinished = dependencies.filter { !$0.isFinished }
    guard !unfinished.isEmpty, !isCancelled else { return true }
    let watches = unfinished.map { operation in
      let identity = ObjectIdentifier(operation)
      return (identity, DependencyWatch(operation) { self.dependencyFinished(identity) })
    }
    yieldPoint(.watch, store.identifier)
    withState { state in
      state.watches = Dictionary(watches, uniquingKeysWith: { first, _ in first })
      state.onReady = onReady
    }
    for (_, watch) in watches { watch.begin() }
    yieldPoint(.watch, store.identifier)
    // A dependency removed, or a cancellation, since `dependencies` was read has found no watch to end.
    let present = dependencies
    for operation in unfinished where !present.contains(operation) { stopWatching(operation) }
    if isCancelled { stopWatchingAll() }
    return false
  }

  private func dependencyFinished(_ operation: ObjectIdentifier) {
    withState { $0.takeWatch(of: operation) }.onReady?()
  }

  func stopWatching(_ operation: Operation) {
    let (watch, onReady) = withState { $0.takeWatch(of: ObjectIdentifier(operation)) }
    watch?.end()
    onReady?()
  }

  func stopWatchingAll() {
    let (watches, onReady) = withState { ($0.watches.values.map { $0 }, $0.onReady.take()) }
    for watch in watches { watch.end() }
    onReady?()
  }

  /// A finished operation keeps its dependencies alive, and those have unowned references to it.
  func forgetDependencies() {
    for dependency in dependencies { removeDependency(dependency) }
  }
}
