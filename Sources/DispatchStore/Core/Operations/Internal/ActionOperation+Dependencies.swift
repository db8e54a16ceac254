import Foundation

/// A dispatch that runs the operation waits for its dependencies without blocking a thread.
extension ActionOperation {
  /// Whether it is ready; if not, `onReady` is called once, on any thread, when it becomes ready.
  ///
  /// Throws `wouldDeadlock` if a dependency waits for the store run.
  func isReady(
    for storeRun: StoreRun, orElse onReady: @escaping @Sendable () -> Void
  ) throws(DispatchError) -> Bool {
    guard withState({ $0.hasDependencies }) else { return true }
    let unfinished = unfinishedDependencies
    guard !unfinished.isEmpty, !isCancelled else { return true }
    let watches = unfinished.map { operation in
      let identity = ObjectIdentifier(operation)
      return (identity, DependencyWatch(operation) { self.dependencyFinished(identity) })
    }
    yieldPoint(.watch, store.identifier)
    let awaited = Self.dependentOperations(of: unfinished)
    try WaitGraph.begin(storeRun, of: storeRun.dispatch, self, on: awaited) { wait in
      withState { state in
        state.watches = Dictionary(watches, uniquingKeysWith: { first, _ in first })
        state.onReady = {
          if let wait { WaitGraph.end(wait) }
          onReady()
        }
      }
    }
    for (_, watch) in watches { watch.begin() }
    yieldPoint(.watch, store.identifier)
    // A dependency removed, or a cancellation, since `dependencies` was read has found no watch to end.
    let present = Set(dependencies.map(ObjectIdentifier.init))
    for operation in unfinished where !present.contains(ObjectIdentifier(operation)) {
      stopWatching(operation)
    }
    if isCancelled { stopWatchingAll() }
    return false
  }

  /// The operations that it depends on and that have not finished, perhaps itself.
  var unfinishedDependencies: [Operation] {
    dependencies.filter { !$0.isFinished } + (withState(\.dependsOnItself) ? [self] : [])
  }

  /// The library's operations among these and their dependencies.
  ///
  /// Looked up here, outside of the library's locks, since `dependencies` and `isFinished` of other operations may be
  /// user code.
  private static func dependentOperations(
    of operations: [Operation]
  ) -> [any DependentOperation] {
    var found: [any DependentOperation] = []
    var (path, seen) = (operations, Set(operations.map(ObjectIdentifier.init)))
    while let operation = path.popLast() {
      guard !operation.isFinished else { continue }
      if let dependent = operation as? any DependentOperation {
        found.append(dependent)
        // The dispatch knows its further dependencies.
        if dependent.standing() != nil { continue }
      }
      path += operation.dependencies.filter { seen.insert(ObjectIdentifier($0)).inserted }
    }
    return found
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
    let (watches, onReady) = withState { state in
      state.awaited = []
      return (state.watches.values.map { $0 }, state.onReady.take())
    }
    for watch in watches { watch.end() }
    onReady?()
  }

  /// Removes the dependencies.
  ///
  /// Otherwise a finished operation would keep them alive, and they have unowned references to it.
  func forgetDependencies() {
    for dependency in dependencies { removeDependency(dependency) }
  }
}

extension ActionOperation: DependentOperation {
  var hasEnded: Bool { isFinished }

  var activity: OperationActivity {
    withState { state in
      if state.life.isPending { return .pending }
      if state.isSuspending { return .task }
      return state.life.isBusy ? .block : .callback
    }
  }

  var isReached: Bool { withState { $0.isReached } }

  func standing() -> OperationStanding? {
    withState { state in
      // Set even if it belongs to a dispatch: it may be about to wait, and would close a deadlock cycle without a
      // search.
      if !isPlanted(.unseenDependent) { state.isReached = true }
      guard let dispatch = state.storeRun?.dispatch ?? state.dispatch else { return nil }
      return OperationStanding(
        dispatch: dispatch, part: state.storeRun, isPending: state.life.isPending,
        needsSteps: state.life.isPending || state.blockNeedsSteps, dependencies: state.awaited)
    }
  }

  func setAwaited(_ dependencies: [any DependentOperation]) {
    withState { $0.awaited = dependencies }
  }
}
