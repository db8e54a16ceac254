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
  }

  /// What the operation's lock guards.
  struct State {
    var life = OperationState()
    /// Taken at the start, so that what it captures goes with it.
    var block: Block?
    var task: Task<Void, Never>?
    /// The part of a dispatch that it is.
    var part: Part?
    /// Called once, when nothing is left that it depends on.
    var onReady: (@Sendable () -> Void)?
    var hasDependencies = false
  }

  /// Whether the library made it, for the action that it was asked for.
  var isReduction: Bool {
    state.withLock { if case .reducing? = $0.block { true } else { false } }
  }

  /// Takes the operation for a part of a dispatch; false where it was taken or started before.
  func claim(for part: Part) -> Bool {
    state.withLock { state in
      guard state.life.claim() else { return false }
      state.part = part
      return true
    }
  }

  /// Whether it is ready; where it is not, `onReady` is called once when it is, on any thread.
  ///
  /// The listener is set before readiness is asked: a dependency that finishes in between finds it.
  func isReady(orElse onReady: @escaping @Sendable () -> Void) -> Bool {
    guard state.withLock({ $0.hasDependencies }) else { return true }
    state.withLock { $0.onReady = onReady }
    // Where Foundation's question came first, the listener has been called and is gone.
    guard dependenciesHaveFinished else { return false }
    return state.withLock { $0.onReady.take() } != nil
  }

  /// Finished operations keep their dependencies alive, and those keep unowned references back.
  func forgetDependencies() {
    for dependency in dependencies { removeDependency(dependency) }
  }
}
