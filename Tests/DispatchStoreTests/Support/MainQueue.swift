import Dispatch
import Foundation

/// Where the calling code runs.
enum Here {
  private static let key: DispatchSpecificKey<Bool> = {
    let key = DispatchSpecificKey<Bool>()
    DispatchQueue.main.setSpecific(key: key, value: true)
    return key
  }()

  /// Whether this is the main queue; under an `async` main that is not the main thread.
  static var isMainQueue: Bool {
    DispatchQueue.getSpecific(key: key) == true
  }

  static var thread: Int { pthread_self().hashValue }
}

/// Keeps the main queue busy until a test ends that, for half a minute at most: a test that fails hangs no other.
final class BusyMainQueue: Sendable {
  private let mayEnd = DispatchSemaphore(value: 0)

  /// Returns once the queue is busy.
  static func begin() async -> BusyMainQueue {
    let (busy, hasBegun) = (BusyMainQueue(), Latch())
    DispatchQueue.main.async {
      hasBegun.open()
      _ = busy.mayEnd.wait(timeout: .now() + .seconds(30))
    }
    await hasBegun.opened()
    return busy
  }

  func end() {
    mayEnd.signal()
  }
}
