import BenchmarkSupport
import Dispatch
import DispatchStore
import Foundation

/// Dispatches with deadlines an hour ahead, of which 1,000,000 are pending with the same dispatcher, in another lane.
enum DeadlineRows {
  static let all = [bytes, reduction, yielding]
  private static let count = 1_000_000
  private static let hour = DispatchOptions.timeout(.seconds(3_600))

  /// As for a pending reduction, with a deadline each: with its timer.
  private static let bytes = Row("a pending plain reduction with a deadline", bound: .bytes(1_000))
  { rounds in
    (0..<min(rounds, 2)).map { _ in
      let fixture = Fixture(PlainReducer())
      let before = Memory.allocatedBytes
      let pending = Pending(with: fixture.dispatcher)
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
      bound: .times(3)
    ) { rounds in
      let (plain, fixture) = (makeFixture(), makeFixture())
      let pending = Pending(with: fixture.dispatcher)
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

  /// Dispatches with deadlines, in a lane that another dispatch holds until the end.
  private struct Pending {
    private let dispatcher: Dispatcher
    private let holder: DispatchHandle
    private static let lane = Dispatcher.Mode.serial(lane: "held")

    init(with dispatcher: Dispatcher) {
      self.dispatcher = dispatcher
      dispatcher.register(
        store: Store<Counter, Hold>(identifier: "holder", reducer: HoldingReducer()))
      holder = dispatcher.dispatch(action: Hold(), mode: Self.lane)
      for index in 0..<count {
        dispatcher.dispatch(action: Add(index), mode: Self.lane, options: hour)
      }
    }

    func end() {
      holder.cancel()
      let done = DispatchSemaphore(value: 0)
      dispatcher.dispatch(action: Add(1), mode: Self.lane) { done.signal() }
      done.wait()
    }
  }
}

private struct Hold: ActionType {}

/// Returns an operation that holds its lane until it is cancelled.
private final class HoldingReducer: Reducer<Counter, Hold> {
  override func operation(
    for action: Hold, in store: Store<Counter, Hold>
  ) -> ActionOperation<Counter, Hold> {
    ActionOperation(action: action, store: store) { _, _ in
      try await Task.sleep(for: .seconds(3_600))
    }
  }
}
