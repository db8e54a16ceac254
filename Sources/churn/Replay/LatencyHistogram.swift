/// A histogram of durations.
///
/// The width of a bucket grows with the duration: 128 buckets to each power of two. So the error is below one
/// percent, and memory does not grow with the number of durations.
struct LatencyHistogram: Equatable, Sendable {
  private static let bitsPerOctave = 7
  private static let bucketsPerOctave = 1 << bitsPerOctave
  /// The longest duration: 2^42 nanoseconds, more than an hour; longer durations count as that.
  private static let longestBits = 42
  private static let bucketCount = (longestBits - bitsPerOctave + 1) * bucketsPerOctave

  private(set) var count: UInt64 = 0
  private var longest: UInt64 = 0
  private var buckets = [UInt64](repeating: 0, count: bucketCount)

  mutating func record(_ nanoseconds: UInt64) {
    buckets[Self.bucket(of: nanoseconds)] += 1
    count += 1
    longest = max(longest, nanoseconds)
  }

  mutating func merge(_ other: LatencyHistogram) {
    for index in buckets.indices { buckets[index] += other.buckets[index] }
    count += other.count
    longest = max(longest, other.longest)
  }

  /// The duration, in nanoseconds, that `share` (0 to 1) of all durations do not exceed.
  ///
  /// Zero if there are none.
  func quantile(_ share: Double) -> UInt64 {
    let rank = max(1, UInt64((share * Double(count)).rounded(.up)))
    var seen: UInt64 = 0
    for (index, bucket) in buckets.enumerated() {
      seen += bucket
      if seen >= rank { return min(Self.largest(in: index), longest) }
    }
    return longest
  }

  /// The lower octaves, up to `bucketsPerOctave`, have a bucket for each duration.
  private static func bucket(of nanoseconds: UInt64) -> Int {
    let value = min(nanoseconds, (1 << longestBits) - 1)
    let bits = UInt64.bitWidth - value.leadingZeroBitCount
    let shift = max(0, bits - bitsPerOctave - 1)
    return shift * bucketsPerOctave + Int(value >> UInt64(shift))
  }

  private static func largest(in bucket: Int) -> UInt64 {
    let shift = max(0, bucket / bucketsPerOctave - 1)
    let value = UInt64(bucket - shift * bucketsPerOctave)
    return ((value + 1) << UInt64(shift)) - 1
  }
}
