import Foundation

/// A strong reference to an object that a simulation may release.
package final class SimulatedReference<Object: AnyObject & Sendable>: @unchecked Sendable {
  // because `lock` guards its state
  private let lock = NSLock()
  private var stored: Object?

  /// Makes a reference to an object.
  package init(_ object: Object) {
    stored = object
  }

  /// The object, or nil after `release()`.
  package var object: Object? { lock.withLock { stored } }

  /// Releases the object.
  package func release() {
    // Released outside the lock, because a `deinit` may run code.
    let object = lock.withLock {
      defer { stored = nil }
      return stored
    }
    withExtendedLifetime(object) {}
  }
}
