import BenchmarkSupport
import DispatchStore

/// What options add to a `send`, from one task to an idle lane.
///
/// The floor: the same without options.
enum ControlRows {
  static let all = [
    reducing("timeout, name, limit and retry", Controls.all),
    reducing("a timeout", Controls.timeout),
    reducing("a new idempotency key", Controls.newKey),
    reducing("a repeated idempotency key", Controls.repeatedKey, bound: .times(2)),
    // Its block has a task of its own, which can be cancelled alone.
    yielding("the four, a block that yields", Controls.all),
    // These cancel nothing, so the block runs in the caller's task.
    yielding("limit and retry, a block that yields", Controls.limitAndRetry),
  ]

  /// A plain reduction.
  private static func reducing(
    _ name: String, _ options: @escaping @Sendable (_ index: Int) -> DispatchOptions,
    bound: Bound = .timesPlus(1, nanoseconds: 1_500)
  ) -> Row {
    Row("`await send` with \(name)", floor: "without options", bound: bound) { rounds in
      Rounds.alternate(
        rounds, count: 20_000, floor: TaskCalls.send(Fixture(PlainReducer())),
        subject: TaskCalls.send(Fixture(PlainReducer()), options: options))
    }
  }

  /// An operation whose `async` block yields once.
  private static func yielding(
    _ name: String, _ options: @escaping @Sendable (_ index: Int) -> DispatchOptions
  ) -> Row {
    Row("`await send` with \(name)", floor: "without options", bound: .times(1.5)) { rounds in
      Rounds.alternate(
        rounds, count: 2_000, floor: TaskCalls.send(Fixture(YieldingReducer())),
        subject: TaskCalls.send(Fixture(YieldingReducer()), options: options))
    }
  }
}
