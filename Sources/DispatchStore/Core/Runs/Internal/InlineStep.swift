/// What became of one store's part in an inline run.
@usableFromInline
enum InlineStep {
  case finished
  /// It ended otherwise.
  indirect case ended(StoreOutcome)
  /// Its operation, an `ActionOperation` of the store's types, waits for others, or is to be run in a task.
  case unfinished(AnyObject)
  /// The same, and it has been started: it ends later.
  case running(AnyObject)
  /// It has not begun: earlier changes of the store are delivered first.
  case heldBack

  /// The outcome, if the part has ended.
  var outcome: StoreOutcome? {
    switch self {
    case .finished: .finished
    case .ended(let outcome): outcome
    case .unfinished, .running, .heldBack: nil
    }
  }

  init(_ outcome: StoreOutcome) {
    self = outcome.isFinished ? .finished : .ended(outcome)
  }

  init(_ answer: ReducerCalls.Answer) {
    if case .failed(let error) = answer {
      self = .ended(.of(thrown: error))
    } else {
      self = .finished
    }
  }
}

/// The point at which an inline run stops: a round goes on there.
struct InlineRemainder {
  /// The store runs before this position have ended.
  let position: Int
  /// By position: the store index; nil where they are the same.
  let order: [Int]?
  /// The store at that position, where it has begun.
  let begun: (index: Int, step: InlineStep)?

  init(position: Int, order: [Int]?, begun: (index: Int, step: InlineStep)?) {
    self.position = position
    self.order = order
    if case .heldBack? = begun?.step { self.begun = nil } else { self.begun = begun }
  }

  /// By store index, how those ended that have; empty where none has.
  ///
  /// - Parameter outcomes: The same as far as one has not finished.
  func ended(of route: Route, _ outcomes: [StoreOutcome]) -> [StoreOutcome?] {
    if position == 0 { return [] }
    var ended = [StoreOutcome?](repeating: nil, count: route.count)
    for position in 0..<position {
      let index = order?[position] ?? position
      ended[index] = outcomes.isEmpty ? .finished : outcomes[index]
    }
    return ended
  }
}

/// How an inline run of a queued dispatch ended.
enum InlineEnd {
  /// All stores finished, and no handle exists: the record can be used again.
  case reusable
  /// It has ended, and its handles know how.
  case ended
  /// Later steps continue it; the last one releases the scheduler, perhaps before this is returned.
  case continues
}
