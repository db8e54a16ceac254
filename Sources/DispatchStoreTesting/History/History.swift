/// Operations that processes called, possibly at the same time, in the order of their calls.
///
/// A `HistoryRecorder` makes one. You can also make one of operations that you recorded elsewhere.
public struct History<Operation: Sendable, Response: Equatable & Sendable>: Sendable {
  /// The operations, in the order of their calls.
  public let operations: [RecordedOperation<Operation, Response>]

  /// Makes a history of operations in any order, and numbers them by their calls.
  public init(_ operations: [RecordedOperation<Operation, Response>]) {
    var operations = operations.sorted { $0.callStamp < $1.callStamp }
    for index in operations.indices { operations[index].number = index + 1 }
    self.operations = operations
  }

  /// Makes a history of operations that are numbered, and in the order of their calls.
  init(ordered: [RecordedOperation<Operation, Response>]) {
    operations = ordered
  }

  /// Splits the history into parts that concern one object each, in the order of their first calls.
  ///
  /// A history is linearizable exactly if each of these parts is: the theorem of locality of Herlihy and Wing, 1990.
  /// The operations keep their numbers.
  public func split<Object: Hashable>(
    by object: (Operation) throws -> Object
  ) rethrows -> [(object: Object, history: History)] {
    var indices: [Object: Int] = [:]
    var parts: [(object: Object, operations: [RecordedOperation<Operation, Response>])] = []
    for operation in operations {
      let object = try object(operation.operation)
      if let index = indices[object] {
        parts[index].operations.append(operation)
      } else {
        indices[object] = parts.count
        parts.append((object, [operation]))
      }
    }
    return parts.map { ($0.object, History(ordered: $0.operations)) }
  }

  /// Returns the history up to an instant.
  ///
  /// Omits later calls, and makes operations pending that returned later.
  func prefix(through stamp: Int) -> History {
    History(
      ordered: operations.prefix { $0.callStamp <= stamp }.map { operation in
        guard let returned = operation.returned, returned.stamp > stamp else { return operation }
        var pending = RecordedOperation<Operation, Response>(
          process: operation.process, operation: operation.operation,
          callStamp: operation.callStamp, returned: nil)
        pending.number = operation.number
        return pending
      })
  }
}

extension History: CustomStringConvertible {
  /// A line for each operation.
  public var description: String {
    operations.map(\.description).joined(separator: "\n")
  }
}
