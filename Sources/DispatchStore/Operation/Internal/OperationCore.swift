/// What of an operation's state has no type of the user's, and the lock that guards it.
///
/// A pointer, that its operation allocates and destroys: reached without looking a generic type up.
@usableFromInline
struct OperationCore: @unchecked Sendable {
  // because every access holds the lock, or the only reference
  struct State {
    var life = OperationState()
    var task: Task<Void, Never>?
    /// The part of a dispatch that it is.
    var part: StoreRun?
    /// The dispatch that runs it straight through: nil before that can go.
    unowned(unsafe) var dispatch: Dispatch?
    /// The unfinished operations that a dispatch waits for.
    var watches: [ObjectIdentifier: DependencyWatch] = [:]
    /// Called once, when none of them is left.
    var onReady: (@Sendable () -> Void)?
    /// Whether the library made it, for the action that it was asked for.
    var isReduction = false
    var hasDependencies = false
    /// Somebody has changed what stays with the object.
    var isTouched = false
    /// Whether it was given out, and so has a subject.
    var isGivenOut = false

    mutating func takeWatch(of operation: ObjectIdentifier) -> (
      watch: DependencyWatch?, onReady: (@Sendable () -> Void)?
    ) {
      let watch = watches.removeValue(forKey: operation)
      return (watch, watches.isEmpty ? onReady.take() : nil)
    }

    var commitOwner: (any CommitOwner)? { part ?? dispatch }
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

  @inline(__always)
  func withState<Result>(_ body: (inout State) -> Result) -> Result {
    lock.lock()
    defer { lock.unlock() }
    return body(&state.pointee)
  }

  // MARK: For whoever holds the only reference to the operation

  var hasDependencies: Bool { state.pointee.hasDependencies }
  var isGivenOut: Bool { state.pointee.isGivenOut }

  @usableFromInline
  func give(asReduction isReduction: Bool) {
    state.pointee.isGivenOut = true
    state.pointee.isReduction = isReduction
  }

  /// Starts it for a dispatch that runs inline; false where it is not as it was made.
  @usableFromInline
  func beginInline(for dispatch: Dispatch) -> Bool {
    guard state.pointee.life.isUntouched, !state.pointee.hasDependencies else { return false }
    state.pointee.life.startUntouched()
    state.pointee.dispatch = dispatch
    return true
  }

  /// Its block has returned; whether it has ended as finished, and nothing has been done with it that
  /// somebody could tell.
  @usableFromInline
  func endInline(isFinished: Bool) -> Bool {
    guard !state.pointee.isTouched, state.pointee.life.endsFinished(isFinished) else {
      return false
    }
    state.pointee.dispatch = nil
    state.pointee.life = OperationState()
    state.pointee.isGivenOut = false
    return true
  }
}
