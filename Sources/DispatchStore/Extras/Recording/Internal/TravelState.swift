/// The place in time at which a recorder's stores are.
enum TravelState: Sendable {
  /// The stores are as their last commits left them. Can become moving.
  case present
  /// The dispatcher is being paused, or the stores are being set. Can become past, or present.
  case moving(wasPast: Bool)
  /// The stores are as after so many commits of `of`. Can become moving.
  case past(mark: Int, of: Int)

  /// Whether stores are set to an earlier state, also while they are set to another one.
  var isPast: Bool {
    switch self {
    case .present: false
    case .moving(let wasPast): wasPast
    case .past: true
    }
  }
}

/// The action that sets stores to an earlier state; no hook sees it.
struct TimeTravel: AtomicAction {}
