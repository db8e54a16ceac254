import Foundation

extension ActionOperation {
  @inline(__always)
  func withState<Result>(_ body: (inout OperationCore.State) -> Result) -> Result {
    core.withState(body)
  }

  /// Takes the operation for a dispatch; false where it was taken or started before.
  func claim() -> Bool {
    withState { $0.life.claim() }
  }

  /// Becomes a part of a round: its outcome where it has ended, else the part will hear of that.
  func join(_ part: StoreRun) -> StoreOutcome? {
    withState { state in
      state.dispatch = nil
      if let outcome = state.life.outcome { return outcome }
      state.part = part
      return nil
    }
  }

  /// Whether it is ready; where it is not, `onReady` is called once when it is, on any thread.
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
    // A removal or a cancellation between the question and here has found no watch.
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

  /// Finished operations keep their dependencies alive, and those keep unowned references back.
  func forgetDependencies() {
    for dependency in dependencies { removeDependency(dependency) }
  }
}
