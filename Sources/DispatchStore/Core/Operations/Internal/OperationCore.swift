/// The state that an operation has behind its lock; it does not depend on the operation's generic types.
struct OperationCore {
  var life = OperationState()
  var task: Task<Void, Never>?
  /// Whether its `async` block runs on the thread that runs the steps of its dispatch, or has to begin there.
  var blockNeedsSteps = false
  /// The store run that it belongs to.
  var storeRun: StoreRun?
  /// The call site of its dispatch, for messages; kept after the end.
  var callSite: CallSite?
  /// The watches of unfinished dependencies, by operation.
  var watches: [ObjectIdentifier: DependencyWatch] = [:]
  /// The library's operations on which it depends, also through others, while it waits for them.
  var awaited: [any DependentOperation] = []
  /// Whether a search of the wait graph reached it before it belonged to a dispatch.
  var isReached = false
  /// Called once, when no watch is left.
  var onReady: (@Sendable () -> Void)?
  var hasDependencies = false
  var dependsOnItself = false
  /// Whether `isReady` was read: it may be in a queue.
  var wasReadinessRead = false

  mutating func takeWatch(of operation: ObjectIdentifier) -> (
    watch: DependencyWatch?, onReady: (@Sendable () -> Void)?
  ) {
    let watch = watches.removeValue(forKey: operation)
    if watches.isEmpty { awaited = [] }
    return (watch, watches.isEmpty ? onReady.take() : nil)
  }

  /// Assigns it to a store run; returns the outcome if it has ended.
  mutating func join(_ storeRun: StoreRun) -> StoreOutcome? {
    if let outcome = life.outcome { return outcome }
    (self.storeRun, callSite) = (storeRun, storeRun.dispatch.callSite)
    return nil
  }
}
