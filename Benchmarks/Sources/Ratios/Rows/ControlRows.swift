import BenchmarkSupport
import DispatchStore

/// What options add to a `send`.
enum ControlRows {
  static let all = [controls, timeout, key, controlledYielding, limitedYielding]

  /// A task sends plain reductions to an idle lane, each with a time limit, a name, a limit and a retry policy.
  ///
  /// The floor: the same without options.
  private static let controls = Row(
    "`await send` with timeout, name, limit and retry", floor: "without options",
    bound: .timesPlus(1, nanoseconds: 1_500)
  ) { plain($0, Controls.all) }

  /// The same with a time limit alone.
  private static let timeout = Row(
    "`await send` with a timeout", floor: "without options",
    bound: .timesPlus(1, nanoseconds: 1_500)
  ) { plain($0, Controls.timeout) }

  /// The same with an idempotency key that is new.
  private static let key = Row(
    "`await send` with a new idempotency key", floor: "without options",
    bound: .timesPlus(1, nanoseconds: 1_500)
  ) { plain($0, Controls.newKey) }

  /// The same with a limit and a retry policy, which cancel nothing, and an operation whose `async` block yields once.
  private static let limitedYielding = Row(
    "`await send` with limit and retry, a block that yields", floor: "without options",
    bound: .times(1.5)
  ) { yielding($0, Controls.limitAndRetry) }

  /// The same with the four controls.
  ///
  /// Its block has a task of its own, which can be cancelled alone.
  private static let controlledYielding = Row(
    "`await send` with the four, a block that yields", floor: "without options", bound: .times(1.5)
  ) { yielding($0, Controls.all) }

  private static func yielding(
    _ rounds: Int, _ options: @escaping @Sendable (_ index: Int) -> DispatchOptions
  ) -> [Sample] {
    Rounds.alternate(
      rounds, count: 2_000, floor: TaskCalls.send(Fixture(YieldingReducer())),
      subject: TaskCalls.send(Fixture(YieldingReducer()), options: options))
  }

  private static func plain(
    _ rounds: Int, _ options: @escaping @Sendable (_ index: Int) -> DispatchOptions
  ) -> [Sample] {
    Rounds.alternate(
      rounds, count: 20_000, floor: TaskCalls.send(Fixture(PlainReducer())),
      subject: TaskCalls.send(Fixture(PlainReducer()), options: options))
  }
}
