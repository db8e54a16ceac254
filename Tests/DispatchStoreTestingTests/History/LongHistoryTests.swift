import DispatchStoreTesting
import Synchronization
import Testing

@Suite("Histories: long ones")
struct LongHistoryTests {
  final class Comparisons: Sendable {
    let count = Atomic(0)
  }

  /// A response that counts its comparisons.
  struct Number: Hashable, Sendable {
    let value: Int
    let comparisons: Comparisons

    static func == (lhs: Number, rhs: Number) -> Bool {
      lhs.comparisons.count.add(1, ordering: .relaxed)
      return lhs.value == rhs.value
    }

    func hash(into hasher: inout Hasher) { hasher.combine(value) }
  }

  /// Gives each client the next number, and shows the last one.
  struct Dispenser: SequentialSpecification {
    enum Operation: Sendable, Hashable { case draw, read }

    let initialState = 0
    let comparisons: Comparisons

    func apply(_ operation: Operation, to state: inout Int) -> Number {
      if operation == .draw { state += 1 }
      return Number(value: state, comparisons: comparisons)
    }

    func isReadOnly(_ operation: Operation) -> Bool { operation == .read }
  }

  /// A quadratic check of this one compares a million responses.
  @Test func takeAFewComparisonsForEachOperationIfNoneOverlap() {
    let (count, comparisons) = (4_000, Comparisons())
    let history = History(
      (0..<count).map { place in
        RecordedOperation<Dispenser.Operation, Number>(
          process: "client", operation: place.isMultiple(of: 2) ? .draw : .read,
          callStamp: 2 * place,
          returned: .init(
            stamp: 2 * place + 1,
            response: Number(value: place / 2 + 1, comparisons: comparisons)))
      })
    #expect(history.check(against: Dispenser(comparisons: comparisons)).isLinearizable)
    #expect(comparisons.count.load(ordering: .relaxed) < 20 * count)
  }

  struct Register: SequentialSpecification {
    enum Operation: Sendable, Hashable {
      case write(Int)
      case read
    }

    let initialState = 0

    func apply(_ operation: Operation, to state: inout Int) -> Int {
      if case .write(let value) = operation { state = value }
      return state
    }

    func isReadOnly(_ operation: Operation) -> Bool { operation == .read }
  }

  /// In each round the first order that the check tries is a dead end, longer than the one before.
  @Test(.timeLimit(.minutes(1))) func copyNoOrderAtEachDeadEnd() {
    typealias Recorded = RecordedOperation<Register.Operation, Int>
    let operations = (0..<40_000).flatMap { round -> [Recorded] in
      let stamp = 6 * round
      return [
        Recorded(
          process: "a", operation: .write(1), callStamp: stamp,
          returned: .init(stamp: stamp + 2, response: 1)),
        Recorded(
          process: "b", operation: .write(2), callStamp: stamp + 1,
          returned: .init(stamp: stamp + 3, response: 2)),
        Recorded(
          process: "a", operation: .read, callStamp: stamp + 4,
          returned: .init(stamp: stamp + 5, response: 1)),
      ]
    }
    #expect(History(operations).check(against: Register()).isLinearizable)
  }
}
