import BenchmarkSupport
import Dispatch
import Foundation
import Synchronization

/// Times single waits, one after the other; the median, in nanoseconds.
enum Waits {
  /// On the calling thread, which sleeps before each wait where a pause is given, in seconds.
  static func onThread(_ count: Int, pause: Double?, _ wait: () -> Void) -> Double {
    let times = (0..<count).map { _ in
      if let pause { Thread.sleep(forTimeInterval: pause) }
      return Stopwatch.nanoseconds(wait)
    }
    return Quartiles(times).median
  }

  /// In a task; the calling thread waits for its end.
  static func inTask(
    _ count: Int, pause: Double?, _ wait: @escaping @Sendable () async -> Void
  ) -> Double {
    let median = Box()
    let done = DispatchSemaphore(value: 0)
    Task.detached {
      var times: [Double] = []
      for _ in 0..<count {
        if let pause { try? await Task.sleep(for: .seconds(pause)) }
        let start = Stopwatch.now
        await wait()
        times.append(Double(Stopwatch.now - start))
      }
      let result = Quartiles(times).median
      median.value.withLock { $0 = result }
      done.signal()
    }
    done.wait()
    return median.value.withLock { $0 }
  }

  private final class Box: Sendable {
    let value = Mutex(0.0)
  }
}
