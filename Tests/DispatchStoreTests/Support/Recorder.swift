import Foundation

/// What happened, in order, from any thread; to be awaited by number.
final class Recorder<Element: Sendable>: @unchecked Sendable {
  // because `condition` guards what changes
  private let condition = NSCondition()
  private var elements: [Element] = []
  private var waiters: [(count: Int, continuation: UnsafeContinuation<Void, Never>)] = []

  var all: [Element] { condition.withLock { elements } }
  var count: Int { condition.withLock { elements.count } }

  func record(_ element: Element) {
    let reached = condition.withLock {
      elements.append(element)
      condition.broadcast()
      let reached = waiters.filter { $0.count <= elements.count }
      waiters.removeAll { $0.count <= elements.count }
      return reached
    }
    for waiter in reached { waiter.continuation.resume() }
  }

  /// Forgets what was recorded, and returns it.
  func removeAll() -> [Element] {
    condition.withLock {
      defer { elements = [] }
      return elements
    }
  }

  /// Returns what was recorded, once it is this many or more.
  func first(_ count: Int) async -> [Element] {
    await withUnsafeContinuation { continuation in
      let isReached = condition.withLock {
        if elements.count < count { waiters.append((count, continuation)) }
        return elements.count >= count
      }
      if isReached { continuation.resume() }
    }
    return all
  }

  /// Returns once an element that fits was recorded.
  ///
  /// It goes on from the elements that it has looked at: one that is recorded meanwhile may be the last of all.
  func untilRecorded(_ fits: (Element) -> Bool) async {
    var looked = 0
    while true {
      let elements = await first(looked + 1)
      if elements[looked...].contains(where: fits) { return }
      looked = elements.count
    }
  }

  /// Blocks the thread until this many were recorded.
  func waitFor(_ count: Int) {
    condition.withLock {
      while elements.count < count { condition.wait() }
    }
  }
}
