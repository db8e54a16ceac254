import Foundation

/// The seeds that a test explores: a tenth under Thread Sanitizer, which has no race to find where one
/// thread runs at a time.
func seeds(_ usual: UInt64) -> Range<UInt64> {
  let isSanitized = dlsym(nil, "__tsan_init") != nil
  return 0..<(isSanitized ? usual / 10 : usual)
}
