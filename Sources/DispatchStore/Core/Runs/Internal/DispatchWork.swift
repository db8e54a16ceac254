/// The running work of a dispatch, besides an inline run.
enum DispatchWork {
  case none
  /// A single action, store by store.
  case round(Round)
  /// The dispatch of one action of a sequence.
  case step(Dispatch)

  /// The round of the action, or of the sequence's present one.
  var round: Round? {
    switch self {
    case .none: nil
    case .round(let round): round
    case .step(let dispatch): dispatch.details?.withState(\.work).round
    }
  }
}
