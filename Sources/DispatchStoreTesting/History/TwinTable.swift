/// The twins of a history: equal operations with equal responses.
///
/// If two twins may both come next, it suffices to try the one that returned first. In an order that begins with the
/// other one, the two can be exchanged, because all operations between them were called before the earlier return.
/// Operations that are not `Hashable` have no twins.
struct TwinTable {
  /// For each operation, the first of its twins.
  ///
  /// The size of each family is stored at that first one.
  private var family: [Int]
  private var size: [Int]
  /// The order of the returns.
  private var rank: [Int]

  init<Operation, Response: Equatable>(_ operations: [RecordedOperation<Operation, Response>]) {
    family = Array(operations.indices)
    size = Array(repeating: 0, count: operations.count)
    rank = size
    // The first operation of each family. Families of equal operations differ by their responses.
    var firsts: [AnyHashable: [Int]] = [:]
    for (index, operation) in operations.enumerated() {
      if let key = operation.operation as? AnyHashable {
        let first = firsts[key]?.first {
          operations[$0].returned?.response == operation.returned?.response
        }
        if let first { family[index] = first } else { firsts[key, default: []].append(index) }
      }
      size[family[index]] += 1
    }
    let byReturn = operations.indices.sorted {
      (operations[$0].returned?.stamp ?? .max, $0) < (operations[$1].returned?.stamp ?? .max, $1)
    }
    for (position, index) in byReturn.enumerated() { rank[index] = position }
  }

  func hasAny(_ operation: Int) -> Bool {
    size[family[operation]] > 1
  }

  func replaces(_ other: Int, for operation: Int) -> Bool {
    family[other] == family[operation] && rank[other] < rank[operation]
  }
}
