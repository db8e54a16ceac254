/// The place in time at which a recorder's stores are.
enum TravelState: Sendable {
  /// The stores are as their last commits left them. Can become pausing.
  case present
  /// The dispatcher is being paused, or the stores are being set. Can become past, or present.
  case moving
  /// The stores are as after so many commits of `of`. Can become moving.
  case past(mark: Int, of: Int)
}

/// The action that sets stores to an earlier state; no hook sees it.
struct TimeTravel: AtomicAction {}
