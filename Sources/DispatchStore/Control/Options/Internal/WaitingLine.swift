/// Objects in the order in which they came, of which each may leave at any time.
///
/// Objects that have left stay as tombstones: skipped, and removed once they are many.
struct WaitingLine<Member: AnyObject> {
  private var order = FIFO<UInt64>()
  private var members: [UInt64: Member] = [:]
  private var tickets: [ObjectIdentifier: UInt64] = [:]
  private var lastTicket: UInt64 = 0

  var count: Int { members.count }
  var isEmpty: Bool { members.isEmpty }

  /// The objects, first to last; linear.
  var all: [Member] { order.all.compactMap { members[$0] } }

  /// The object that came last; nil if it has left.
  var last: Member? { members[lastTicket] }

  func contains(_ member: Member) -> Bool { tickets[ObjectIdentifier(member)] != nil }

  mutating func append(_ member: Member) {
    lastTicket += 1
    members[lastTicket] = member
    tickets[ObjectIdentifier(member)] = lastTicket
    order.append(lastTicket)
  }

  mutating func popFirst() -> Member? {
    while let ticket = order.popFirst() {
      guard let member = members.removeAndShrink(ticket) else { continue }
      tickets.removeAndShrink(ObjectIdentifier(member))
      return member
    }
    return nil
  }

  /// Takes an object out of the line; false if it was not there.
  mutating func remove(_ member: Member) -> Bool {
    guard let ticket = tickets.removeAndShrink(ObjectIdentifier(member)) else { return false }
    members.removeAndShrink(ticket)
    if order.count > 2 * members.count + 64 { order.removeAll { members[$0] == nil } }
    return true
  }
}
