import Foundation

/// A value that one thread waits for and another one gives, once.
final class Gate<Value: Sendable>: @unchecked Sendable {  // because `condition` guards `value`
  private let condition = NSCondition()
  private var value: Value?

  private var isOpen: Bool {
    condition.lock()
    defer { condition.unlock() }
    return value != nil
  }

  func open(_ value: Value) {
    condition.lock()
    self.value = value
    condition.signal()
    condition.unlock()
  }

  func wait() -> Value {
    ThreadState.current.simulated?.wait(for: "its turn to tell") { self.isOpen }
    condition.lock()
    defer { condition.unlock() }
    while true {
      if let value { return value }
      condition.wait()
    }
  }
}
