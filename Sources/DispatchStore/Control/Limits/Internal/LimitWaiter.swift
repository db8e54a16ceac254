/// The wait of a task or a thread for a unit of a limit.
///
/// Ends with a unit, or without one if the task is cancelled or the time has passed.
final class LimitWaiter: Sendable {
  /// Whether it has got a unit.
  let end = Eventual<Bool>()
  let limit: DispatchLimit

  init(for limit: DispatchLimit) {
    self.limit = limit
  }

  /// Ends the wait without a unit, unless it has one.
  func cancel() {
    if limit.endWait(self) { end.set(false) }
  }
}

/// The gate of a record that stands in for a waiting call, by which the wait graph finds those that have the units.
final class UnitGate: StartGate, @unchecked Sendable {
  // because it has only constants
  private let waiter: LimitWaiter

  init(_ waiter: LimitWaiter) {
    self.waiter = waiter
    super.init()
  }

  override var units: UnitHolders? {
    let limit = waiter.limit
    let holders = limit.holders
    // A unit that no dispatch has belongs to a call that is about to go on.
    guard holders.count == limit.bound, !waiter.end.isSet else { return nil }
    // In an order that a simulation repeats.
    return UnitHolders(
      limit: ObjectIdentifier(limit), name: limit.name, dispatches: holders.sorted { $0.id < $1.id }
    )
  }
}
