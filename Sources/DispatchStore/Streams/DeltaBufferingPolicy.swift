/// What a stream of deltas keeps for a consumer that is behind; in each case nothing is lost.
///
/// Deltas are not dropped, neither new nor old ones: each is the difference from the content before it, so that a copy
/// without one of them would never be right again.
public enum DeltaBufferingPolicy: Sendable, Equatable {
  /// Keeps one delta, the net effect of all commits since the consumer took the last one.
  ///
  /// What is kept is bounded by the number of keys that were changed meanwhile. An element that was inserted and
  /// removed again is not delivered.
  case merging

  /// Keeps the delta of each commit: the history, for a log or an audit. Memory grows as far as the consumer is behind.
  case unbounded

  /// Keeps the delta of each commit, and has producers wait while the consumer is more than so many deltas behind; 0 or
  /// more.
  ///
  /// As `StreamBufferingPolicy.suspending(_:)`.
  case suspending(Int)

  /// What is kept, where deltas are merged first.
  var policy: StreamBufferingPolicy {
    switch self {
    case .merging, .unbounded: .unbounded
    case .suspending(let bound): .suspending(bound)
    }
  }

  @usableFromInline
  func check() {
    policy.check()
  }
}
