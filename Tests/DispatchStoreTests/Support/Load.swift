import Foundation

/// How much a test of load does.
enum Load {
  /// Whether `DISPATCHSTORE_LONG=1` sets the full numbers.
  static let isLong = ProcessInfo.processInfo.environment["DISPATCHSTORE_LONG"] == "1"

  /// Whether Thread Sanitizer is in the process: the same load then takes ten times as long.
  static let isSanitized = dlsym(nil, "__tsan_init") != nil

  static func count(_ usual: Int, long: Int) -> Int {
    isLong ? long : count(usual)
  }

  /// Hundreds and thousands are a tenth under Thread Sanitizer, which finds a race where threads meet at all.
  static func count(_ usual: Int) -> Int {
    isSanitized && usual >= 100 ? usual / 10 : usual
  }
}
