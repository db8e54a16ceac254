import Foundation
import Synchronization

/// Calls a closure once when another operation has finished, without blocking a thread.
///
/// On Linux, Foundation reads a dependent's `isReady` when its last dependency has finished: a watch is
/// a dependent that is in no queue and has one dependency. So it does not rely on how Foundation counts
/// several dependencies, or one that was removed.
final class DependencyWatch: Operation, @unchecked Sendable {
  // because its variables are atomic, or set before the closure can be called
  private let watched: Operation
  private let onFinish: @Sendable () -> Void
  private let isArmed = Atomic(true)
  /// For a simulation: Foundation notifies dependents in an order that depends on addresses.
  private let number = ThreadState.current.simulated?.world.makeNumber()
  #if canImport(ObjectiveC)
    private var observation: NSKeyValueObservation?
  #endif

  init(_ watched: Operation, onFinish: @escaping @Sendable () -> Void) {
    self.watched = watched
    self.onFinish = onFinish
  }

  /// Starts watching.
  ///
  /// Calls the closure on this thread if the operation has already finished.
  func begin() {
    #if canImport(ObjectiveC)
      observation = watched.observe(\.isFinished, options: [.initial]) { [weak self] watched, _ in
        if watched.isFinished { self?.fire() }
      }
    #else
      addDependency(watched)
      // Another thread may have called `end()` before the dependency was there to be removed.
      if !isArmed.load(ordering: .sequentiallyConsistent) { removeDependency(watched) }
    #endif
  }

  /// Stops watching; the dependency goes, as Foundation keeps an unowned reference to a dependent.
  func end() {
    isArmed.store(false, ordering: .sequentiallyConsistent)
    #if !canImport(ObjectiveC)
      removeDependency(watched)
    #endif
  }

  #if !canImport(ObjectiveC)
    override var isReady: Bool {
      let isReady = super.isReady
      if isReady, watched.isFinished { fire() }
      return isReady
    }
  #endif

  private func fire() {
    guard isArmed.exchange(false, ordering: .sequentiallyConsistent) else { return }
    if let number, let world = ThreadState.current.simulated?.world {
      world.run(inOrderOf: number, onFinish)
    } else {
      onFinish()
    }
  }
}
