import Foundation

extension ActionOperation {
  /// What the operation calls, by who ends it.
  enum Block {
    /// Ends it by `operation.finish()`.
    case controlled(
      @Sendable (RunningOperation<Model, Action>, Action, Store<Model, Action>) throws -> Void)
    /// Ends it by returning.
    case returning(@Sendable (Action, Store<Model, Action>) throws -> Void)
    /// Runs in a task, and ends it by returning.
    case suspending(@Sendable (Action, Store<Model, Action>) async throws -> Void)
    /// Calls the reducer's `reduce(into:action:)`.
    case reducing

    /// Whether it can't end before it returns.
    fileprivate var isSuspending: Bool {
      if case .suspending = self { true } else { false }
    }
  }

  /// What the operation's lock guards.
  struct State {
    var life = OperationState()
    /// Taken at the start, so that what it captures goes with it.
    var block: Block?
    var task: Task<Void, Never>?
    /// The part of a dispatch that it is.
    var part: Part?
    /// The dispatch that runs it straight through.
    var dispatch: Dispatch?
    /// The unfinished operations that a dispatch waits for.
    var watches: [ObjectIdentifier: DependencyWatch] = [:]
    /// Called once, when none of them is left.
    var onReady: (@Sendable () -> Void)?

    mutating func takeWatch(of operation: ObjectIdentifier) -> (
      watch: DependencyWatch?, onReady: (@Sendable () -> Void)?
    ) {
      let watch = watches.removeValue(forKey: operation)
      return (watch, watches.isEmpty ? onReady.take() : nil)
    }
    var hasDependencies = false
    /// Somebody has changed what stays with the object.
    var isTouched = false

    /// Becomes that of an operation that was just made; its end was told.
    @inline(__always)
    mutating func reset() {
      life = OperationState()
      block = nil
      task = nil
      part = nil
      dispatch = nil
    }

    var isReduction: Bool {
      if case .reducing? = block { true } else { false }
    }

    /// Whether it is as it was made.
    fileprivate var isUntouched: Bool {
      !isTouched && life.isUntouched
    }

    /// Whether it may end before whoever runs it goes on.
    var mayEndAtOnce: Bool {
      !hasDependencies && block?.isSuspending != true
    }
  }

  /// Whether the library made it, for the action that it was asked for.
  var isReduction: Bool {
    withState { $0.isReduction }
  }

  /// Whether all that it stands for is the `reduce(into:action:)` of the store's reducer.
  ///
  /// The caller holds the only reference to it.
  @inline(__always)
  func isUntouchedReduction(of store: Store<Model, Action>) -> Bool {
    state.isReduction && state.isUntouched && self.store === store
  }

  /// Takes the operation for a dispatch; false where it was taken or started before.
  func claim() -> Bool {
    withState { $0.life.claim() }
  }

  /// Becomes a part of a round: its outcome where it has ended, else the part will hear of that.
  func join(_ part: Part) -> StoreOutcome? {
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
    withState { state in
      state.watches = Dictionary(watches, uniquingKeysWith: { first, _ in first })
      state.onReady = onReady
    }
    for (_, watch) in watches { watch.begin() }
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
