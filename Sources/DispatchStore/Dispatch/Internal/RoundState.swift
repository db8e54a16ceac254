import Foundation

/// The progress of one action through its stores, without threads.
struct RoundState {
  private enum Phase {
    /// Waits for stores that go before it. Can become starting.
    case waiting
    /// A step asks for its operation and runs it; what was heard of it meanwhile.
    case starting(Heard?)
    /// Its operation is under way, or waits for what it depends on. Can become starting or an end.
    case running
    /// Its operation has ended; commits of its own, left to other threads, are yet to be told.
    case untold(StoreOutcome)
    /// Its operation has ended, and what follows an end is being done. Can become closed.
    case closing(StoreOutcome)
    /// Nothing follows.
    case closed(StoreOutcome)
  }

  private enum Heard {
    case ended(StoreOutcome)
    /// What the operation depends on has finished.
    case ready
  }

  private struct Place {
    let storeIdentifier: String
    var phase = Phase.waiting
    /// The earlier places that it waits for, and how many of those have not closed.
    let prerequisites: [Int]
    var missing: Int
    /// The later places that wait for it.
    var dependents: [Int] = []
    /// Commits of its own that were left to other threads to tell.
    var untold = 0
    var wasUntold = false
    /// The operation under way, to be cancelled.
    var operation: Operation?

    var isWaiting: Bool {
      if case .waiting = phase { true } else { false }
    }
  }

  private var places: [Place]
  private var open: Int
  /// Places with a step, an operation or an end under way.
  private var active = 0
  private var untoldPlaces = 0
  private(set) var isCancelled = false

  /// - Parameters:
  ///   - stores: By place: the identifier of the store.
  ///   - prerequisites: By place: the earlier places that it waits for; nil where none does.
  ///   - ended: By place: how those ended that were run before; empty where none was.
  ///   - started: The place that has been started.
  init(
    stores: some Collection<String>, prerequisites: [[Int]]? = nil, ended: [StoreOutcome?] = [],
    started: Int? = nil
  ) {
    let hasEnded = { ended.isEmpty ? false : ended[$0] != nil }
    places = stores.enumerated().map { place, identifier in
      var waits = prerequisites?[place] ?? []
      if isPlanted(.droppedEdge) { waits.removeLast(min(1, waits.count)) }
      return Place(
        storeIdentifier: identifier, prerequisites: waits,
        missing: waits.count { !hasEnded($0) })
    }
    open = places.indices.count { !hasEnded($0) }
    for place in places.indices {
      for wait in places[place].prerequisites { places[wait].dependents.append(place) }
    }
    for (place, outcome) in ended.enumerated() {
      if let outcome { places[place].phase = .closed(outcome) }
    }
    guard let started else { return }
    places[started].phase = .starting(nil)
    active = 1
  }

  var isClosed: Bool { open == 0 }

  /// The places that have not been started and wait for nothing.
  var first: [Int] { places.indices.filter { places[$0].isWaiting && places[$0].missing == 0 } }

  /// How the places ended; those that have not are given as cancelled.
  var results: (identifiers: [String], outcomes: [StoreOutcome]) {
    let outcomes = places.map { place -> StoreOutcome in
      switch place.phase {
      case .untold(let outcome), .closing(let outcome), .closed(let outcome): outcome
      case .waiting, .starting, .running: .cancelled
      }
    }
    return (places.map(\.storeIdentifier), outcomes)
  }

  /// Whether all that is under way is the telling of commits left to other threads.
  var onlyTellingIsLeft: Bool { active == 0 && untoldPlaces > 0 }

  /// A step takes the place; the one of its prerequisites that did not finish, if any.
  mutating func start(_ place: Int) -> (prerequisite: Int, outcome: StoreOutcome)? {
    places[place].phase = .starting(nil)
    active += 1
    for prerequisite in places[place].prerequisites {
      if case .closed(let outcome) = places[prerequisite].phase, !outcome.isFinished {
        return (prerequisite, outcome)
      }
    }
    return nil
  }

  /// An operation is about to run; whether it is to be cancelled first.
  mutating func started(_ operation: Operation, at place: Int) -> Bool {
    places[place].operation = operation
    return isCancelled
  }

  /// A step runs the operation of a place, whose dependencies have finished.
  ///
  /// False where somebody else has run it, in a queue of their own.
  mutating func resume(_ place: Int) -> Bool {
    switch places[place].phase {
    case .running, .starting(.ready):
      places[place].phase = .starting(nil)
      return true
    default:
      return false
    }
  }

  /// What a step does next about a place.
  enum Step {
    /// Close it, with this outcome.
    case close(StoreOutcome)
    /// Run its operation, whose dependencies have finished.
    case resume
    /// Somebody else will go on with it.
    case wait
  }

  /// The step that started the place has done so; `outcome` where it ended without an operation.
  mutating func startReturned(_ place: Int, _ outcome: StoreOutcome? = nil) -> Step {
    guard case .starting(let heard) = places[place].phase else { return .wait }
    if let outcome { return end(place, outcome) }
    switch heard {
    case .ended(let outcome):
      return end(place, outcome)
    case .ready:
      return .resume
    case nil:
      places[place].phase = .running
      return .wait
    }
  }

  mutating func becameReady(_ place: Int) -> Step {
    switch places[place].phase {
    case .starting(nil):
      if isPlanted(.lostReady) { return .wait }
      places[place].phase = .starting(.ready)
      return .wait
    case .running:
      return .resume
    default:
      return .wait
    }
  }

  mutating func operationEnded(_ place: Int, _ outcome: StoreOutcome) -> Step {
    if case .starting = places[place].phase {
      places[place].phase = .starting(.ended(outcome))
      return .wait
    }
    return end(place, outcome)
  }

  private mutating func end(_ place: Int, _ outcome: StoreOutcome) -> Step {
    guard places[place].untold == 0 else {
      places[place].phase = .untold(outcome)
      active -= 1
      untoldPlaces += 1
      return .wait
    }
    places[place].phase = .closing(outcome)
    return .close(outcome)
  }

  mutating func commitDeferred(_ place: Int) {
    places[place].untold += 1
  }

  mutating func commitDelivered(_ place: Int) -> Step {
    places[place].untold -= 1
    guard places[place].untold == 0, case .untold(let outcome) = places[place].phase else {
      return .wait
    }
    // Until it has closed, it counts as untold: nobody is to wait for the thread that closes it.
    places[place].phase = .closing(outcome)
    places[place].wasUntold = true
    return .close(outcome)
  }

  /// What follows the end has been done; the places that may start now, and what is to be released.
  mutating func closed(_ place: Int) -> (next: [Int], isClosed: Bool, operation: Operation?) {
    guard case .closing(let outcome) = places[place].phase else { return ([], false, nil) }
    places[place].phase = .closed(outcome)
    if places[place].wasUntold { untoldPlaces -= 1 } else { active -= 1 }
    open -= 1
    var next: [Int] = []
    for dependent in places[place].dependents {
      places[dependent].missing -= 1
      if places[dependent].missing == 0 { next.append(dependent) }
    }
    return (next, isClosed, places[place].operation.take())
  }

  /// The operations under way.
  mutating func cancel() -> [Operation] {
    isCancelled = true
    return places.compactMap(\.operation)
  }
}
