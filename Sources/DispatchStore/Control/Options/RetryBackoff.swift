import Synchronization

/// The pauses between the attempts of a store.
public struct RetryBackoff: Sendable {
  private enum Jitter {
    case none
    case system
    case seeded(SeededJitter)
  }

  private let first: Duration
  private let factor: Double
  private let most: Duration
  private var jitter = Jitter.none

  /// No pause: the next attempt follows at once.
  public static let none = constant(.zero)

  /// Pauses for the same time after each attempt.
  public static func constant(_ pause: Duration) -> RetryBackoff {
    RetryBackoff(first: pause, factor: 1, most: pause)
  }

  /// Multiplies the pause by a factor after each attempt, up to a longest pause.
  ///
  /// - Parameters:
  ///   - first: The pause after the first attempt.
  ///   - factor: The quotient of two successive pauses.
  ///   - most: The longest pause.
  public static func exponential(
    from first: Duration, factor: Double = 2, upTo most: Duration = .seconds(60)
  ) -> RetryBackoff {
    RetryBackoff(first: first, factor: factor, most: most)
  }

  /// Returns this back-off with full jitter: each pause is drawn uniformly between zero and its full length.
  ///
  /// Dispatches that failed together therefore do not all retry together.
  ///
  /// - Parameter seed: The seed of the draws: each returned value makes the same ones in the same order. Without one,
  ///   they are the system's; in a simulation they follow from its seed.
  public func withFullJitter(seed: UInt64? = nil) -> RetryBackoff {
    var backoff = self
    backoff.jitter = seed.map { .seeded(SeededJitter($0)) } ?? .system
    return backoff
  }

  /// The pause after so many failed attempts, in nanoseconds.
  ///
  /// - Parameter seed: In a simulation, the seed of a draw that is the system's otherwise.
  func pause(after attempt: Int, seed: UInt64?) -> Int64 {
    let longest = longestPause(after: attempt)
    switch jitter {
    case .none:
      return longest
    case .seeded(let source):
      return source.draw(upTo: longest)
    case .system:
      if let seed { return SeededJitter(seed &+ UInt64(attempt)).draw(upTo: longest) }
      return longest > 0 ? .random(in: 0...longest) : 0
    }
  }

  private func longestPause(after attempt: Int) -> Int64 {
    let (first, most) = (max(first.wholeNanoseconds, 0), max(most.wholeNanoseconds, 0))
    var pause = Double(first)
    // Grows up to the longest pause. The attempt number is bounded, since a factor of one never gets there.
    for _ in 1..<max(min(attempt, 1_024), 1) where pause < Double(most) { pause *= factor }
    return pause < Double(most) ? Int64(max(pause, 0)) : most
  }
}

/// SplitMix64, whose state threads share without a lock.
private final class SeededJitter: Sendable {
  private let state: Atomic<UInt64>

  init(_ seed: UInt64) {
    state = Atomic(seed)
  }

  func draw(upTo longest: Int64) -> Int64 {
    var value = state.wrappingAdd(0x9E37_79B9_7F4A_7C15, ordering: .relaxed).newValue
    value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
    value ^= value >> 31
    // The upper half of the product is as good as uniform, without a division.
    return Int64(value.multipliedFullWidth(by: UInt64(max(longest, 0)) + 1).high)
  }
}
