import Foundation

/// Whether code runs where the main queue does, so that blocking there keeps the queue from running.
enum MainQueue {
  private static let key: DispatchSpecificKey<Void> = {
    let key = DispatchSpecificKey<Void>()
    DispatchQueue.main.setSpecific(key: key, value: ())
    return key
  }()

  /// Runs something there, in time.
  static func run(in world: (any SimulatedWorld)?, _ body: @escaping @Sendable () -> Void) {
    if let world { world.run(.main, body) } else { DispatchQueue.main.async(execute: body) }
  }

  /// The thread alone does not tell: in an async main, the queue leaves it after the first suspension.
  static var isCurrent: Bool {
    if let simulated = ThreadState.current.simulated { return simulated.isMainQueue }
    return DispatchQueue.getSpecific(key: key) != nil || Thread.isMainThread
  }
}
