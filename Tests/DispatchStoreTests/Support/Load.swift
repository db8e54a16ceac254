import Foundation

/// How much a test of load does.
enum Load {
  /// Whether `DISPATCHSTORE_LONG=1` sets the full numbers.
  static let isLong = ProcessInfo.processInfo.environment["DISPATCHSTORE_LONG"] == "1"

  static func count(_ usual: Int, long: Int) -> Int {
    isLong ? long : usual
  }
}
