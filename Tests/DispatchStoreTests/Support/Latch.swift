import Foundation

/// Opens once, and stays open; threads and tasks wait for that.
final class Latch: @unchecked Sendable {  // because `condition` guards what changes
  private let condition = NSCondition()
  private var hasOpened = false
  private var waiters: [UnsafeContinuation<Void, Never>] = []

  var isOpen: Bool { condition.withLock { hasOpened } }

  func open() {
    let waiters = condition.withLock {
      hasOpened = true
      condition.broadcast()
      defer { self.waiters = [] }
      return self.waiters
    }
    for waiter in waiters { waiter.resume() }
  }

  /// Blocks the thread.
  func wait() {
    condition.withLock {
      while !hasOpened { condition.wait() }
    }
  }

  func opened() async {
    await withUnsafeContinuation { continuation in
      let isOpen = condition.withLock {
        if !hasOpened { waiters.append(continuation) }
        return hasOpened
      }
      if isOpen { continuation.resume() }
    }
  }

  /// The same in a task whose cancellation opens it.
  func openedOrCancelled() async {
    await withTaskCancellationHandler {
      await opened()
    } onCancel: {
      open()
    }
  }
}
