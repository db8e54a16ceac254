private import Dispatch
private import Foundation

/// Threads that begin together.
public enum Producers {
  /// How long `count` threads take to run `body`, and the calling thread then to run `end`.
  ///
  /// Creating the threads is not counted.
  public static func nanoseconds(
    _ count: Int, _ body: @escaping @Sendable (_ index: Int) -> Void, end: () -> Void = {}
  ) -> Double {
    let ready = DispatchSemaphore(value: 0)
    let start = DispatchSemaphore(value: 0)
    let done = DispatchSemaphore(value: 0)
    for index in 0..<count {
      let thread = Thread {
        ready.signal()
        start.wait()
        body(index)
        done.signal()
      }
      thread.start()
    }
    for _ in 0..<count { ready.wait() }
    return Stopwatch.nanoseconds {
      for _ in 0..<count { start.signal() }
      for _ in 0..<count { done.wait() }
      end()
    }
  }
}
