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
