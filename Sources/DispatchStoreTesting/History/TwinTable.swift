/// The twins of a history: equal operations with equal responses.
///
/// If two twins may both come next, it suffices to try the one that returned first. In an order that begins with the
/// other one, the two can be exchanged, because all operations between them were called before the earlier return.
/// Operations that are not `Hashable` have no twins. Neither have read-only ones, of which no order is tried.
struct TwinTable {
  /// For each operation, the first of its twins.
  ///
  /// The size of each family is stored at that first one.
  private var family: [Int]
  private var size: [Int]
  /// The order of the returns.
  private var rank: [Int]

  /// The hash of a twin.
  ///
  /// Responses that are not `Hashable` are compared one by one.
  private struct Key: Hashable {
    let operation: AnyHashable
    let response: AnyHashable?
  }

  init<Operation, Response: Equatable>(
    _ operations: [RecordedOperation<Operation, Response>], isReadOnly: [Bool]
  ) {
    family = Array(operations.indices)
    size = Array(repeating: 0, count: operations.count)
    rank = size
    // The first operation of each family. Families of equal operations differ by their responses.
    var firsts: [Key: [Int]] = [:]
    for (index, operation) in operations.enumerated() {
      if !isReadOnly[index], let hashable = operation.operation as? AnyHashable {
        let key = Key(
          operation: hashable, response: operation.returned.flatMap { $0.response as? AnyHashable })
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
