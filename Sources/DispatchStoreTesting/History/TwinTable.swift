/// Which operations of a history are the same but for when they ran: equal, with equal responses.
///
/// Of twins that may both come next, the one that returned first stands for the other: in an order that
/// begins with the other one they can change places, because whatever comes between them was called
/// before the earlier return. Knows twins only where operations are `Hashable`.
struct TwinTable {
  /// By place: the first of its twins, and how many it has, itself included.
  private var family: [Int]
  private var size: [Int]
  /// The order of the returns.
  private var rank: [Int]

  init<Operation, Response: Equatable>(_ operations: [RecordedOperation<Operation, Response>]) {
    family = Array(operations.indices)
    size = Array(repeating: 0, count: operations.count)
    rank = size
    // The firsts among equal operations; they differ by their responses.
    var firsts: [AnyHashable: [Int]] = [:]
    for (place, operation) in operations.enumerated() {
      if let key = operation.operation as? AnyHashable {
        let first = firsts[key]?.first {
          operations[$0].returned?.response == operation.returned?.response
        }
        if let first { family[place] = first } else { firsts[key, default: []].append(place) }
      }
      size[family[place]] += 1
    }
    let byReturn = operations.indices.sorted {
      (operations[$0].returned?.stamp ?? .max, $0) < (operations[$1].returned?.stamp ?? .max, $1)
    }
    for (position, place) in byReturn.enumerated() { rank[place] = position }
  }

  func hasAny(_ operation: Int) -> Bool {
    size[family[operation]] > 1
  }

  func stands(_ other: Int, for operation: Int) -> Bool {
    family[other] == family[operation] && rank[other] < rank[operation]
  }
}
