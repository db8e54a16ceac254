import DispatchStore
import Foundation

/// A value behind a lock, for several threads of a scenario.
final class Shared<Value>: @unchecked Sendable {  // because `lock` guards the value
  private let lock = NSLock()
  private var value: Value

  init(_ value: Value) {
    self.value = value
  }

  @discardableResult
  func with<Result>(_ body: (inout Value) -> Result) -> Result {
    waitForLock()
    defer { lock.unlock() }
    return body(&value)
  }

  var now: Value { with { $0 } }

  /// Locks; a simulated thread yields meanwhile, since the one that has the lock may have come to a lock of the library.
  private func waitForLock() {
    guard let thread = currentSimulatedThread else { return lock.lock() }
    thread.lock("a lock of the scenario", ifFree: lock.try, unlock: lock.unlock)
  }
}
