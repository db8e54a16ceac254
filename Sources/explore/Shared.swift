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
    lock.withLock { body(&value) }
  }

  var now: Value { lock.withLock { value } }
}
