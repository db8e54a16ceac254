import Foundation

extension DispatcherClock {
  /// The nanoseconds since 1970.
  var unixNanoseconds: Int64 { Int64(Date().timeIntervalSince1970 * 1_000_000_000) }
}
