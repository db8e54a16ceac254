/// The buffering of a stream of deltas while its consumer lags.
///
/// No policy loses a change.
///
/// Each delta is the difference from the content before it. Dropping one would make every later copy wrong.
public enum DeltaBufferingPolicy: Sendable, Equatable {
  /// Keeps one delta: the net effect of all commits since the consumer took the last one.
  ///
  /// Memory is bounded by the number of keys that changed meanwhile. An element that was inserted and removed again
  /// is not delivered.
  case merging

  /// Keeps the delta of each commit: the history, for a log or an audit.
  ///
  /// Memory grows with the consumer's lag.
  case unbounded

  /// Keeps the delta of each commit, and makes producers wait while the consumer lags by more than this number of
  /// deltas.
  ///
  /// The number is 0 or more. Producers wait as with `StreamBufferingPolicy.suspending(_:)`.
  case suspending(Int)

  /// The policy for the deltas, after merging.
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
