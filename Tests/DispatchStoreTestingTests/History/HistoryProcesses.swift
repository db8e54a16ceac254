import Foundation
import Synchronization

/// Threads that a history names as its processes.
enum HistoryProcesses {
  /// Runs a closure on so many threads at once, and returns when all have returned.
  static func run(_ count: Int, _ body: @escaping @Sendable (_ process: String) -> Void) async {
    let start = DispatchSemaphore(value: 0)
    let left = Shared(count)
    // Awaited by a stream, because Thread Sanitizer takes a continuation that is resumed before its
    // task has suspended for a race.
    let (end, ender) = AsyncStream<Never>.makeStream()
    for index in 0..<count {
      Thread {
        start.wait()
        body("p\(index)")
        if left.value.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { ender.finish() }
      }.start()
    }
    for _ in 0..<count { start.signal() }
    for await _ in end {}
  }

  private final class Shared: Sendable {
    let value: Atomic<Int>

    init(_ value: Int) {
      self.value = Atomic(value)
    }
  }
}
