import Foundation

/// A reference to an object that a simulation may let go of.
public final class SimulatedReference<Object: AnyObject & Sendable>: @unchecked Sendable {
  // because `lock` guards what changes
  private let lock = NSLock()
  private var held: Object?

  /// Holds an object.
  public init(_ object: Object) {
    held = object
  }

  /// The object; nil once it was let go of.
  public var object: Object? { lock.withLock { held } }

  /// Lets go of it.
  public func release() {
    // Released outside the lock: what goes with it may run code.
    let object = lock.withLock {
      defer { held = nil }
      return held
    }
    withExtendedLifetime(object) {}
  }
}
