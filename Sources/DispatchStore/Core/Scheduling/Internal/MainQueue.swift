import Foundation

/// The main queue, and whether a thread runs its work, so that blocking the thread blocks the queue.
enum MainQueue {
  private static let key: DispatchSpecificKey<Void> = {
    let key = DispatchSpecificKey<Void>()
    DispatchQueue.main.setSpecific(key: key, value: ())
    return key
  }()

  /// Enqueues work on the main queue.
  static func run(in world: (any SimulatedWorld)?, _ body: @escaping @Sendable () -> Void) {
    if let world { world.run(.main, body) } else { DispatchQueue.main.async(execute: body) }
  }

  /// Whether a queue is the main queue; on Linux, each access to that makes another object.
  static func isMain(_ queue: DispatchQueue) -> Bool { queue.getSpecific(key: key) != nil }

  /// Whether the current thread runs the main queue's work.
  ///
  /// The thread alone does not tell: in an async main, the queue leaves the main thread after the first suspension.
  static var isCurrent: Bool {
    if let simulated = ThreadState.current.simulated { return simulated.isMainQueue }
    return DispatchQueue.getSpecific(key: key) != nil || Thread.isMainThread
  }
}
