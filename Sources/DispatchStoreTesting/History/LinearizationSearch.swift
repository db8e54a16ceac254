/// Looks for an order of a history's operations that the specification explains.
///
/// Wing and Gong's search, "Testing and Verifying Concurrent Objects", 1993: of the operations called
/// before the first return, one must come first; each is tried, and taken back where it leads nowhere.
/// With Lowe's memory of what was tried, "Testing for Linearizability", 2017: a set of operations that
/// left a state is not tried again in another order. Three more cuts: a read that fits is placed at once,
/// for good, because it takes nothing from those that come later; of twins, the one that returned first
/// is tried alone (see `TwinTable`); pending operations, which need not be placed at all, are tried
/// after the others.
struct LinearizationSearch<Specification: SequentialSpecification> {
  typealias Recorded = RecordedOperation<Specification.Operation, Specification.Response>

  enum Outcome {
    case found
    case exhausted
    case undecided
  }

  private struct Configuration: Hashable {
    let placed: OperationSet
    let state: Specification.State
  }

  private struct Step {
    let operation: Int
    /// The state before it.
    let state: Specification.State
  }

  private let specification: Specification
  private let operations: [Recorded]
  private let isReadOnly: [Bool]
  private let twins: TwinTable
  private var events: EventList
  private var state: Specification.State
  private var placed: OperationSet
  private var order: [Step] = []
  private var tried: Set<Configuration> = []
  /// Completed operations that are not placed.
  private var remaining: Int
  /// Pending operations that are not placed and may change the state.
  private var pending: Int
  /// The longest order that was taken back: the most completed operations.
  private(set) var longest: [Int] = []
  private var longestRemaining = Int.max
  /// The stamp of the last return that the search could reach but not pass.
  private(set) var barrier = Int.min
  private(set) var steps = 0

  init(_ specification: Specification, _ history: [Recorded]) {
    self.specification = specification
    operations = history
    isReadOnly = history.map { specification.isReadOnly($0.operation) }
    twins = TwinTable(history)
    events = EventList(history)
    state = specification.initialState
    placed = OperationSet(capacity: history.count)
    remaining = history.count { $0.returned != nil }
    // A pending read explains nothing, and is never placed.
    pending = zip(history, isReadOnly).count { $0.returned == nil && !$1 }
  }

  /// The operations' places in the order that was found.
  var found: [Int] { order.map(\.operation) }

  /// Searches until an order is found, all have been tried, or so many operations have been applied.
  mutating func run(maxSteps: Int) -> Outcome {
    placeReads()
    var event = events.first
    var triesPending = false
    while remaining > 0 {
      if let operation = candidate(from: &event, isPending: triesPending) {
        guard steps < maxSteps else { return .undecided }
        if place(operation) {
          placeReads()
          (event, triesPending) = (events.first, false)
        } else {
          event = events.after(event)
        }
      } else if !triesPending, pending > 0 {
        (event, triesPending) = (events.first, true)
      } else {
        note(blockedBy: event)
        guard let operation = takeBack() else { return .exhausted }
        event = events.after(events.callEvent[operation])
        triesPending = operations[operation].returned == nil
      }
    }
    return .found
  }

  /// The next operation that may come first: called before the first return of all that remain.
  ///
  /// Leaves the event at its call, or at that return.
  private func candidate(from event: inout Int, isPending: Bool) -> Int? {
    while event != events.end, !events.isReturn[event] {
      let operation = events.operation[event]
      if !isReadOnly[operation], (operations[operation].returned == nil) == isPending,
        !hasEarlierTwin(operation)
      {
        return operation
      }
      event = events.after(event)
    }
    return nil
  }

  /// Whether an operation that may come first as well stands for this one.
  private func hasEarlierTwin(_ operation: Int) -> Bool {
    guard twins.hasAny(operation) else { return false }
    var event = events.first
    while event != events.end, !events.isReturn[event] {
      if twins.stands(events.operation[event], for: operation) { return true }
      event = events.after(event)
    }
    return false
  }

  /// Places an operation next, where its response fits and that has not been tried.
  private mutating func place(_ operation: Int) -> Bool {
    steps += 1
    var next = state
    let response = specification.apply(operations[operation].operation, to: &next)
    if let returned = operations[operation].returned, returned.response != response { return false }
    placed.insert(operation)
    guard tried.insert(Configuration(placed: placed, state: next)).inserted else {
      placed.remove(operation)
      return false
    }
    append(operation, leaving: next)
    return true
  }

  /// Places all reads that fit.
  ///
  /// Each one's return goes with it, so that calls behind that come into reach.
  private mutating func placeReads() {
    var event = events.first
    while event != events.end, !events.isReturn[event] {
      let operation = events.operation[event]
      event = events.after(event)
      guard isReadOnly[operation], let returned = operations[operation].returned else { continue }
      steps += 1
      var next = state
      guard specification.apply(operations[operation].operation, to: &next) == returned.response
      else { continue }
      placed.insert(operation)
      append(operation, leaving: next)
      if event != events.end, events.operation[event] == operation { event = events.after(event) }
    }
  }

  private mutating func append(_ operation: Int, leaving next: Specification.State) {
    order.append(Step(operation: operation, state: state))
    state = next
    events.lift(operation)
    if operations[operation].returned == nil { pending -= 1 } else { remaining -= 1 }
  }

  /// Takes back the last operation that is not a read, and all reads after it.
  private mutating func takeBack() -> Int? {
    while let step = order.popLast() {
      events.unlift(step.operation)
      placed.remove(step.operation)
      state = step.state
      if operations[step.operation].returned == nil { pending += 1 } else { remaining += 1 }
      if !isReadOnly[step.operation] { return step.operation }
    }
    return nil
  }

  private mutating func note(blockedBy event: Int) {
    barrier = max(barrier, operations[events.operation[event]].returned!.stamp)
    if remaining < longestRemaining {
      longestRemaining = remaining
      longest = found
    }
  }
}
