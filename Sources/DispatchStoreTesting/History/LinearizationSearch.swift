/// Searches for an order of a history's operations that the specification explains.
///
/// The search is Wing and Gong's, "Testing and Verifying Concurrent Objects", 1993. One of the operations called
/// before the first return must come first. The search tries each, and removes it again if no order follows. After
/// Lowe, "Testing for Linearizability", 2017, it remembers what it has tried. It does not retry a set of operations
/// with the same state in another order.
///
/// Three more cuts:
///
/// - A read that fits is placed at once. It stays, because it rules out no later operation.
/// - Of twins, only the one that returned first is tried (see `TwinTable`).
/// - Pending operations, which need not be placed, are tried last.
struct LinearizationSearch<Specification: SequentialSpecification> {
  typealias Recorded = RecordedOperation<Specification.Operation, Specification.Response>

  enum Outcome {
    case found
    case exhausted
    case undecided
  }

  private struct Configuration: Hashable {
    let placed: OperationSet.Part
    let state: Specification.State
  }

  private struct Step {
    let operation: Int
    /// The state before the operation.
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
  /// The number of completed operations that are not placed.
  private var remaining: Int
  /// The number of pending operations that are not placed and may change the state.
  private var pending: Int
  /// The order with the most completed operations, among those that could not be continued.
  private(set) var longest: [Int] = []
  private var longestRemaining = Int.max
  /// The number of operations with which the present order begins like the longest one.
  private var common = 0
  /// The highest stamp of a return that the search reached and could not pass.
  private(set) var barrier = Int.min
  private(set) var steps = 0

  init(_ specification: Specification, _ history: [Recorded]) {
    self.specification = specification
    operations = history
    isReadOnly = history.map { specification.isReadOnly($0.operation) }
    twins = TwinTable(history, isReadOnly: isReadOnly)
    events = EventList(history)
    state = specification.initialState
    placed = OperationSet(capacity: history.count)
    remaining = history.count { $0.returned != nil }
    // A pending read explains nothing, and is never placed.
    pending = zip(history, isReadOnly).count { $0.returned == nil && !$1 }
  }

  /// The operations' indices, in the order that was found.
  var found: [Int] { order.map(\.operation) }

  /// Searches until it has found an order, tried all of them, or applied `maxSteps` operations.
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
        guard let operation = backtrack() else { return .exhausted }
        event = events.after(events.callEvent[operation])
        triesPending = operations[operation].returned == nil
      }
    }
    return .found
  }

  /// Returns the next operation that may come first: one called before the first remaining return.
  ///
  /// Sets the event to the operation's call, or to that return.
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

  /// Returns whether a twin that may also come first is tried instead of this operation.
  private func hasEarlierTwin(_ operation: Int) -> Bool {
    guard twins.hasAny(operation) else { return false }
    var event = events.first
    while event != events.end, !events.isReturn[event] {
      if twins.replaces(events.operation[event], for: operation) { return true }
      event = events.after(event)
    }
    return false
  }

  /// Places an operation next.
  ///
  /// Returns false if its response does not fit or the result was tried before.
  private mutating func place(_ operation: Int) -> Bool {
    steps += 1
    var next = state
    let response = specification.apply(operations[operation].operation, to: &next)
    if let returned = operations[operation].returned, returned.response != response { return false }
    placed.insert(operation)
    guard tried.insert(Configuration(placed: placed.part, state: next)).inserted else {
      placed.remove(operation)
      return false
    }
    append(operation, leaving: next)
    return true
  }

  /// Places all reads that fit.
  ///
  /// The return is removed with the call, so that calls after it may also come first.
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

  /// Removes the last operation that is not a read from the order, with all reads after it.
  private mutating func backtrack() -> Int? {
    while let step = order.popLast() {
      common = min(common, order.count)
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
      // Long histories have many of these, so that each copies no more than what is new.
      longest.removeLast(longest.count - common)
      longest += order[common...].map(\.operation)
      common = longest.count
    }
  }
}
