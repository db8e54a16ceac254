import Dispatch
import Foundation

/// Tells where code runs.
enum Here {
  private static let key: DispatchSpecificKey<Bool> = {
    let key = DispatchSpecificKey<Bool>()
    DispatchQueue.main.setSpecific(key: key, value: true)
    return key
  }()

  /// Whether this is the main queue; under an `async` main that is not the main thread.
  static var isMainQueue: Bool {
    _ = key
    return DispatchQueue.getSpecific(key: key) == true
  }

  static var thread: UInt { UInt(bitPattern: pthread_self().hashValue) }
}
