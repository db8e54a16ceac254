/// The state of an operation that does not depend on its generic types, and the lock that guards it.
///
/// A pointer that its operation allocates and destroys: an access looks up no generic metadata.
@usableFromInline
struct OperationCore: @unchecked Sendable {
  // because every access holds the lock, or the only reference
  struct State {
    var life = OperationState()
    var task: Task<Void, Never>?
    /// Whether its block is `async`, and runs in a task.
    var isSuspending = false
    /// Whether its `async` block runs on the thread that runs the steps of its dispatch, or has to begin there.
    var blockNeedsSteps = false
    /// The store run that it belongs to.
    var storeRun: StoreRun?
    /// The dispatch that runs it inline; nil again before that can be released.
    unowned(unsafe) var dispatch: Dispatch?
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
    /// Whether the library made it, so that it is for the right action.
    var isOfLibrary = false
    var hasDependencies = false
    var dependsOnItself = false
    /// Whether `isReady` was read: it may be in a queue.
    var wasReadinessRead = false
    /// Whether code outside the library has started or cancelled it, made it wait, or read whether it is ready.
    var isTouched = false

    mutating func takeWatch(of operation: ObjectIdentifier) -> (
      watch: DependencyWatch?, onReady: (@Sendable () -> Void)?
    ) {
      let watch = watches.removeValue(forKey: operation)
      if watches.isEmpty { awaited = [] }
      return (watch, watches.isEmpty ? onReady.take() : nil)
    }

    /// The dispatch or store run that owns the operation's commits.
    var commitOwner: (any CommitOwner)? { storeRun ?? dispatch }
  }

  private let lock = Lock()
  private let state: UnsafeMutablePointer<State>

  init() {
    state = .allocate(capacity: 1)
    state.initialize(to: State())
  }

  func destroy() {
    state.deinitialize(count: 1)
    state.deallocate()
    lock.destroy()
  }

  func withState<Result>(_ body: (inout State) -> Result) -> Result {
    lock.lock()
    defer { lock.unlock() }
    return body(&state.pointee)
  }

  // MARK: Without the lock, for a caller with the only strong reference to the operation

  var hasDependencies: Bool { state.pointee.hasDependencies }

  @usableFromInline
  func beginUse(isOfLibrary: Bool, isSuspending: Bool) {
    (state.pointee.isOfLibrary, state.pointee.isSuspending) = (isOfLibrary, isSuspending)
  }

  /// Starts the operation for an inline run.
  ///
  /// Returns false if its block runs in a task, or if it was changed since it was made.
  ///
  /// - Parameter isAlone: Whether there is no weak reference either, by which another thread could get at it.
  @usableFromInline
  func beginInline(for dispatch: Dispatch, isAlone: Bool) -> Bool {
    // When a dependency ends, Foundation reads `isReady` by an uncounted reference: then the operation is not alone.
    if isAlone, state.pointee.hasDependencies { return false }
    if !isAlone { lock.lock() }
    defer { if !isAlone { lock.unlock() } }
    guard !state.pointee.isSuspending, state.pointee.life.isUntouched,
      !state.pointee.hasDependencies
    else { return false }
    state.pointee.life.startUntouched()
    state.pointee.dispatch = dispatch
    state.pointee.callSite = dispatch.callSite
    return true
  }

  /// Ends the operation after its block has returned.
  ///
  /// Returns whether it has finished and can be reused, because no property that stays with it was changed.
  ///
  /// - Parameter isFinished: Whether its block's return finishes it; nil if other code does, on any thread.
  @usableFromInline
  func endInline(isFinished: Bool?) -> Bool {
    if isFinished == nil {
      // A thread that finished it has held the lock, which Thread Sanitizer understands, unlike the count of
      // references that the thread has dropped since.
      lock.lock()
      lock.unlock()
    }
    guard !state.pointee.isTouched, state.pointee.life.endsForReuse(isFinished ?? false) else {
      return false
    }
    state.pointee.dispatch = nil
    state.pointee.callSite = nil
    return true
  }
}
