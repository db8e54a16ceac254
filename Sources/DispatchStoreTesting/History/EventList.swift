/// The calls and returns of a history in order, linked so that an operation is taken out and put back
/// in constant time: Wing and Gong's list, in arrays.
///
/// Put back in the reverse order of taking out. `end` is both the place before the first event and the
/// one after the last.
struct EventList {
  /// The operation of each event, by place.
  private(set) var operation: [Int] = []
  private(set) var isReturn: [Bool] = []
  /// The events of each operation; that of the return is `end` where there is none.
  private(set) var callEvent: [Int] = []
  private var returnEvent: [Int] = []
  private var next: [Int] = []
  private var previous: [Int] = []

  var end: Int { operation.count }
  var first: Int { next[end] }

  init<Operation, Response>(_ operations: [RecordedOperation<Operation, Response>]) {
    var events: [(stamp: Int, isReturn: Bool, operation: Int)] = []
    for (place, operation) in operations.enumerated() {
      events.append((operation.callStamp, false, place))
      if let returned = operation.returned { events.append((returned.stamp, true, place)) }
    }
    // At the same stamp calls come first: operations overlap rather than follow each other.
    events.sort {
      ($0.stamp, $0.isReturn ? 1 : 0, $0.operation) < ($1.stamp, $1.isReturn ? 1 : 0, $1.operation)
    }
    let end = events.count
    callEvent = Array(repeating: end, count: operations.count)
    returnEvent = callEvent
    for (place, event) in events.enumerated() {
      operation.append(event.operation)
      isReturn.append(event.isReturn)
      if event.isReturn {
        returnEvent[event.operation] = place
      } else {
        callEvent[event.operation] = place
      }
    }
    next = (0...end).map { $0 == end ? 0 : $0 + 1 }
    previous = (0...end).map { $0 == 0 ? end : $0 - 1 }
  }

  func after(_ event: Int) -> Int { next[event] }

  /// Takes an operation out: its call, and its return where it has one.
  mutating func lift(_ operation: Int) {
    unlink(callEvent[operation])
    if returnEvent[operation] != end { unlink(returnEvent[operation]) }
  }

  /// Puts an operation back: the one that was taken out last.
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
