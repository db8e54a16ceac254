import Dispatch

/// A value that one thread waits for, and another one sets once.
final class Gate<Value: Sendable>: Sendable {
  private let value = Locked<Value?>(nil)
  private let isOpen = DispatchSemaphore(value: 0)

  func open(_ value: Value) {
    self.value.withLock { $0 = value }
    isOpen.signal()
  }

  func wait() -> Value {
    ThreadState.current.simulated?.wait(for: "its delivery turn") {
      self.value.withLock { $0 != nil }
    }
    isOpen.wait()
    return value.withLock { $0! }
  }
}
