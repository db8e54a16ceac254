/// The answer of one store to an action.
@usableFromInline
enum InlineStep {
  case finished
  /// The store ended with another outcome.
  indirect case ended(StoreOutcome)
  /// The operation was claimed; the round is to run it.
  case unfinished(any StoreOperation)
  /// The store has not begun: it answers by an operation, is held weakly, or its earlier changes must be delivered first.
  case leftToRound

  /// The outcome, if the part has ended.
  var outcome: StoreOutcome? {
    switch self {
    case .finished: .finished
    case .ended(let outcome): outcome
    case .unfinished, .leftToRound: nil
    }
  }
}

/// The point at which an inline run stops and a round takes over.
struct InlineRemainder {
  /// The store index before which all stores have finished.
  let index: Int
  /// The outcome of the store at that index, if it has begun.
  let begun: StoreOutcome?
  /// The time at which it has begun, if hooks get it.
  let startedAt: Int64?
  /// The store index that has begun; nil if none has.
  var begunIndex: Int? { begun == nil ? nil : index }

  init(index: Int, begun: InlineStep?, startedAt: Int64? = nil) {
    (self.index, self.begun, self.startedAt) = (index, begun?.outcome, startedAt)
  }

  /// All stores, none of which has begun.
  static var all: InlineRemainder { InlineRemainder(index: 0, begun: nil) }
}

/// How the step that starts a dispatch ended.
enum InlineEnd {
  /// All stores finished and no handle exists, so that the record can be reused.
  case reusable
  /// The dispatch has ended, or was cancelled and ends elsewhere; its place is free.
  case ended
  /// Later steps continue it. The last one releases the scheduler, perhaps before this is returned.
  case continues
}
