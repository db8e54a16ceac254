import Foundation
import Synchronization

/// Hears once when an operation of somebody else has finished, without holding a thread for it.
///
/// On Linux, Foundation asks a dependent whether it is ready when its last dependency has finished: a
/// watch is such a dependent, that is in no queue, and whose only dependency this is. So nothing hangs
/// on how Foundation counts several of them, or on one that was removed.
final class DependencyWatch: Operation, @unchecked Sendable {
  // because what changes is atomic, or set before the operation can be heard of
  private let watched: Operation
  private let onFinish: @Sendable () -> Void
  private let isArmed = Atomic(true)
  /// In a simulation: Foundation tells the dependents of an operation in an order that hangs on addresses.
  private let number = ThreadState.current.simulated?.world.makeNumber()
  #if canImport(ObjectiveC)
    private var observation: NSKeyValueObservation?
  #endif

  init(_ watched: Operation, onFinish: @escaping @Sendable () -> Void) {
    self.watched = watched
    self.onFinish = onFinish
  }

  /// Begins to watch; calls back here where the operation has finished already.
  func begin() {
    #if canImport(ObjectiveC)
      observation = watched.observe(\.isFinished, options: [.initial]) { [weak self] watched, _ in
        if watched.isFinished { self?.fire() }
      }
    #else
      addDependency(watched)
      // Ended meanwhile on another thread, which may have been too early to remove it.
      if !isArmed.load(ordering: .sequentiallyConsistent) { removeDependency(watched) }
    #endif
  }

  /// Watches no longer: Foundation keeps an unowned reference to a dependent, so it has to be told.
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
