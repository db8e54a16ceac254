import DispatchStoreTesting
import Testing

/// The check against the definition, on histories small enough for all orders to be tried.
@Suite("Histories: the search")
struct LinearizationSearchTests {
  typealias Recorded = RecordedOperation<Register.Operation, Register.Response>

  @Test(arguments: [true, false])
  func agreesWithTheTrialOfAllOrders(knowsReads: Bool) {
    var generator = SeededGenerator(seed: 7)
    var linearizable = 0
    let register = Register(knowsReads: knowsReads)
    for _ in 0..<1500 {
      let history = Self.history(using: &generator)
      let verdict = history.check(against: register)
      let expected = Self.hasOrder(history.operations)
      #expect(verdict.isLinearizable == expected, "\(history)")
      switch verdict {
      case .linearizable(let order):
        linearizable += 1
        #expect(Self.isLegal(order, of: history.operations), "\(history)")
      case .notLinearizable(let witness):
        Self.expectShortest(witness)
      case .undecided: Issue.record("undecided")
      }
    }
    #expect((300...1200).contains(linearizable))
  }

  @Test func theOrderOfSeveralObjectsIsLegalForTheWholeHistory() {
    var generator = SeededGenerator(seed: 11)
    var linearizable = 0
    for _ in 0..<1000 {
      let history = Self.history(using: &generator)
      // Odd and even processes have a register each.
      let objects = Dictionary(
        uniqueKeysWithValues: history.operations.map { ($0.number, Int($0.process)! % 2) })
      let split = History<Both.Operation, Register.Response>(
        history.operations.map {
          RecordedOperation(
            process: $0.process,
            operation: .init(object: objects[$0.number]!, operation: $0.operation),
            callStamp: $0.callStamp,
            returned: $0.returned.map { .init(stamp: $0.stamp, response: $0.response) })
        })
      let parts = split.check(by: \.object) { _ in Both() }
      #expect(parts.isLinearizable == split.check(against: Both()).isLinearizable, "\(split)")
      guard case .linearizable(let order) = parts else { continue }
      linearizable += 1
      #expect(Self.respectsRealTime(order))
      var state = Both().initialState
      for step in order {
        let response = Both().apply(step.operation, to: &state)
        #expect(step.returned.map { $0.response == response } ?? true, "\(split)")
      }
    }
    #expect((200...900).contains(linearizable))
  }

  /// Two registers as one object.
  struct Both: SequentialSpecification {
    struct Operation: Sendable {
      let object: Int
      let operation: Register.Operation
    }

    let initialState = [0, 0]

    func apply(_ operation: Operation, to state: inout [Int]) -> Register.Response {
      Register().apply(operation.operation, to: &state[operation.object])
    }
  }

  /// One to five operations, some of them pending, with responses that are sometimes right.
  private static func history(
    using generator: inout SeededGenerator
  ) -> History<Register.Operation, Register.Response> {
    History(
      (0..<Int.random(in: 1...5, using: &generator)).map { process in
        let isRead = Bool.random(using: &generator)
        let call = Int.random(in: 0..<20, using: &generator)
        let value = Int.random(in: 0...2, using: &generator)
        let isPending = Int.random(in: 0..<6, using: &generator) == 0
        // A write with a response that no register gives: it explains reads of its value until it returns.
        let isOdd = Int.random(in: 0..<10, using: &generator) == 0
        return Recorded(
          process: "\(process)", operation: isRead ? .read : .write(value), callStamp: call,
          returned: isPending
            ? nil
            : .init(
              stamp: call + Int.random(in: 0..<12, using: &generator),
              response: isRead || isOdd ? .value(value) : .done))
      })
  }

  private static func expectShortest(_ witness: HistoryWitness<Register>) {
    let operations = witness.prefix.operations
    #expect(!hasOrder(operations), "\(witness)")
    // Without its last return, or with that operation pending, there is an order.
    let last = operations.compactMap(\.returned?.stamp).max()
    let shorter = operations.map { operation in
      guard operation.returned?.stamp == last else { return operation }
      return Recorded(
        process: operation.process, operation: operation.operation,
        callStamp: operation.callStamp, returned: nil)
    }
    #expect(hasOrder(shorter), "\(witness)")
    #expect(!witness.misfits.isEmpty, "\(witness)")
  }

  /// By the definition: some of the pending operations and all others, in some order.
  private static func hasOrder(_ operations: [Recorded]) -> Bool {
    let pending = operations.filter { $0.returned == nil }
    let completed = operations.filter { $0.returned != nil }
    return (0..<(1 << pending.count)).contains { chosen in
      let some = pending.enumerated().filter { chosen >> $0.offset & 1 == 1 }.map(\.element)
      return orders(of: completed + some).contains { respectsRealTime($0) && explains($0) }
    }
  }

  private static func orders(of operations: [Recorded]) -> [[Recorded]] {
    operations.reduce([[]]) { orders, operation in
      orders.flatMap { order in
        (0...order.count).map { order.prefix($0) + [operation] + order.suffix(order.count - $0) }
      }
    }
  }

  private static func respectsRealTime<Operation>(
    _ order: [RecordedOperation<Operation, Register.Response>]
  ) -> Bool {
    order.indices.allSatisfy { later in
      order[..<later].allSatisfy { !order[later].precedes($0) }
    }
  }

  private static func explains(_ order: [Recorded]) -> Bool {
    var state = 0
    return order.allSatisfy { step in
      let response = Register().apply(step.operation, to: &state)
      return step.returned.map { $0.response == response } ?? true
    }
  }

  private static func isLegal(_ order: [Recorded], of operations: [Recorded]) -> Bool {
    let numbers = Set(order.map(\.number))
    return numbers.count == order.count && respectsRealTime(order) && explains(order)
      && operations.allSatisfy { $0.returned == nil || numbers.contains($0.number) }
  }
}
