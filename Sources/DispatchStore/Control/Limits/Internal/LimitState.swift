/// The units of a limit: dispatches in flight, and waiters for the next unit, without threads.
///
/// Units are handed off: while calls wait, a released unit belongs to the first waiter, and to no later call.
struct LimitState<Member: AnyObject, Waiter: AnyObject> {
  let bound: Int
  private(set) var inFlight = 0
  private(set) var admittedCount = 0
  var rejectedCount = 0
  private(set) var droppedCount = 0
  private var line = WaitingLine<Waiter>()
  private var members: [ObjectIdentifier: (member: Member, since: Int64)] = [:]
  /// Members that may be dropped for others, since their schedulers have them.
  private var droppable = WaitingLine<Member>()

  init(bound: Int) {
    self.bound = bound
  }

  var waitingCount: Int { line.count }

  /// Takes a unit, if one is free and nothing waits.
  mutating func enter() -> Bool {
    guard inFlight < bound, line.isEmpty else { return false }
    inFlight += 1
    return true
  }

  /// Adds a waiter for a unit.
  mutating func wait(_ waiter: Waiter) { line.append(waiter) }

  /// Removes a waiter; false if it has got its unit.
  mutating func endWait(_ waiter: Waiter) -> Bool { line.remove(waiter) }

  /// Releases a unit.
  ///
  /// Returns the waiter that has it now.
  mutating func leave() -> Waiter? {
    guard let next = line.popFirst() else {
      inFlight -= 1
      return nil
    }
    return isPlanted(.lostUnit) ? nil : next
  }

  // MARK: Who has the units

  /// Notes that a member has got a unit and is accepted, which a call with a unit may not be in the end.
  mutating func insert(_ member: Member, at time: Int64) {
    admittedCount += 1
    members[ObjectIdentifier(member)] = (member, time)
  }

  mutating func allowDropping(_ member: Member) {
    if contains(member) { droppable.append(member) }
  }

  /// The members that have units, in no order.
  var holders: [Member] { members.values.map(\.member) }

  func contains(_ member: Member) -> Bool { members[ObjectIdentifier(member)] != nil }

  /// Takes a member's unit from it; false if that was done before.
  mutating func remove(_ member: Member) -> Bool {
    _ = droppable.remove(member)
    return members.removeValue(forKey: ObjectIdentifier(member)) != nil
  }

  /// Hands the unit of a dropped member to the present call.
  ///
  /// Returns false if the dropped member's end has released the unit before, and another call has got it.
  mutating func replace(_ dropped: Member) -> Bool {
    droppedCount += 1
    return remove(dropped) || enter()
  }

  mutating func noteDropped() { droppedCount += 1 }

  /// Takes the oldest member that may be dropped.
  ///
  /// Each is returned once, since a dispatch that has started can't be dropped later.
  mutating func takeDroppable() -> Member? { droppable.popFirst() }

  /// The time since which the oldest member is in flight; linear.
  var oldest: Int64? { members.values.lazy.map(\.since).min() }
}
