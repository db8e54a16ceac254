/// The calls and returns of a history in order, as a linked list in arrays (Wing and Gong).
///
/// An operation is removed and put back in constant time. Operations must be put back in the reverse order of their
/// removal. `end` is both the position before the first event and the one after the last.
struct EventList {
  /// The index of each event's operation.
  private(set) var operation: [Int] = []
  private(set) var isReturn: [Bool] = []
  /// The call and return of each operation.
  ///
  /// The return is `end` if there is none.
  private(set) var callEvent: [Int] = []
  private var returnEvent: [Int] = []
  private var next: [Int] = []
  private var previous: [Int] = []

  var end: Int { operation.count }
  var first: Int { next[end] }

  init<Operation, Response>(_ operations: [RecordedOperation<Operation, Response>]) {
    var events: [(stamp: Int, isReturn: Bool, operation: Int)] = []
    for (index, operation) in operations.enumerated() {
      events.append((operation.callStamp, false, index))
      if let returned = operation.returned { events.append((returned.stamp, true, index)) }
    }
    // At equal stamps calls come first, so that the operations overlap rather than follow each other.
    events.sort {
      ($0.stamp, $0.isReturn ? 1 : 0, $0.operation) < ($1.stamp, $1.isReturn ? 1 : 0, $1.operation)
    }
    let end = events.count
    callEvent = Array(repeating: end, count: operations.count)
    returnEvent = callEvent
    for (position, event) in events.enumerated() {
      operation.append(event.operation)
      isReturn.append(event.isReturn)
      if event.isReturn {
        returnEvent[event.operation] = position
      } else {
        callEvent[event.operation] = position
      }
    }
    next = (0...end).map { $0 == end ? 0 : $0 + 1 }
    previous = (0...end).map { $0 == 0 ? end : $0 - 1 }
  }

  func after(_ event: Int) -> Int { next[event] }

  /// Removes an operation: its call, and its return if it has one.
  mutating func lift(_ operation: Int) {
    unlink(callEvent[operation])
    if returnEvent[operation] != end { unlink(returnEvent[operation]) }
  }

  /// Puts back the operation that was removed last.
  mutating func unlift(_ operation: Int) {
    if returnEvent[operation] != end { relink(returnEvent[operation]) }
    relink(callEvent[operation])
  }

  private mutating func unlink(_ event: Int) {
    next[previous[event]] = next[event]
    previous[next[event]] = previous[event]
  }

  private mutating func relink(_ event: Int) {
    next[previous[event]] = event
    previous[next[event]] = event
  }
}
