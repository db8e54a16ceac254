/// The progress of one store in an inline run.
@usableFromInline
enum InlineStep {
  case finished
  /// The store ended with another outcome.
  indirect case ended(StoreOutcome)
  /// The operation was claimed; a round is to run it.
  case unfinished(any StoreOperation)
  /// The operation has been started, and ends later.
  case running(any StoreOperation)
  /// The store has not begun: its earlier changes must be delivered first, or it is gone.
  case leftToRound

  /// The outcome, if the part has ended.
  var outcome: StoreOutcome? {
    switch self {
    case .finished: .finished
    case .ended(let outcome): outcome
    case .unfinished, .running, .leftToRound: nil
    }
  }

  init(_ outcome: StoreOutcome) {
    self = outcome.isFinished ? .finished : .ended(outcome)
  }
}

/// The point at which an inline run stops and a round takes over.
struct InlineRemainder {
  /// The store index before which all stores have finished.
  let index: Int
  /// The step of the store at that index, if it has begun.
  let begun: InlineStep?
  /// The time at which it has begun, if hooks get it.
  let startedAt: Int64?
  /// The store index that has begun; nil if none has.
  var begunIndex: Int? { begun == nil ? nil : index }

  init(index: Int, begun: InlineStep?, startedAt: Int64? = nil) {
    (self.index, self.startedAt) = (index, startedAt)
    if case .leftToRound? = begun { self.begun = nil } else { self.begun = begun }
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
