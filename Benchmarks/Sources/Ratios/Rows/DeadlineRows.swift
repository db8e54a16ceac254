import BenchmarkSupport
import Dispatch
import DispatchStore
import Foundation

/// Dispatches with deadlines an hour ahead, of which 1,000,000 are pending.
enum DeadlineRows {
  static let all = [bytes, reduction, yielding]
  private static let count = 1_000_000
  private static let hour = DispatchOptions.timeout(.seconds(3_600))

  /// As for a pending reduction, with a deadline each: with its timer.
  private static let bytes = Row("a pending plain reduction with a deadline", bound: .bytes(1_000))
  { rounds in
    (0..<min(rounds, 2)).map { _ in
      let before = Memory.allocatedBytes
      let pending = Pending()
      let bytes = Double(Memory.allocatedBytes - before) / Double(count)
      pending.end()
      return Sample(subject: bytes)
    }
  }

  private static let reduction = row("plain reduction") { Fixture(PlainReducer()) }
  private static let yielding = row("an `async` block that yields") { Fixture(YieldingReducer()) }

  /// `.serial`, pipelined; the floor: the same without a deadline.
  private static func row(
    _ work: String, _ makeFixture: @escaping @Sendable () -> Fixture<Add>
  ) -> Row {
    Row(
      "`.serial` with a deadline beside 1,000,000, \(work)", floor: "without a deadline",
      bound: .times(1.5)
    ) { rounds in
      let (plain, fixture) = (makeFixture(), makeFixture())
      let pending = Pending()
      defer { pending.end() }
      return Rounds.alternate(rounds, count: 20 * BurstGate.size) { count in
        plain.gate.produce(count) {
          plain.dispatcher.dispatch(action: Add($0), mode: .serial)
        }
      } subject: { count in
        fixture.gate.produce(count) {
          fixture.dispatcher.dispatch(
            action: Add($0), mode: .serial, options: .timeout(.seconds(3_600)))
        }
      }
    }
  }

  /// Dispatches with deadlines behind a suspended queue.
  private struct Pending {
    private let fixture = Fixture(PlainReducer())

    init() {
      fixture.dispatcher.queue.isSuspended = true
      for index in 0..<count {
        fixture.dispatcher.dispatch(action: Add(index), mode: .serial, options: hour)
      }
    }

    func end() {
      fixture.dispatcher.queue.isSuspended = false
      let done = DispatchSemaphore(value: 0)
      fixture.dispatcher.dispatch(action: Add(1), mode: .serial) { done.signal() }
      done.wait()
    }
  }
}
