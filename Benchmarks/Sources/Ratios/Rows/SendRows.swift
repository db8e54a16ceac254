import BenchmarkSupport
import DispatchStore

/// `await dispatcher.send(…)`: dispatches in the caller's own task, beside actors and locks.
enum SendRows {
  static let all = [idle, yielding, contended, contendedYielding, stores]
  private static let tasks = 8

  /// A task sends plain reductions to the default lane, one after the other.
  ///
  /// The floor calls an actor's method, which does the same, from outside of the actor.
  private static let idle = Row(
    "`await send`, idle lane, plain reduction", floor: "an actor's method", bound: .times(8)
  ) { rounds in
    Rounds.alternate(
      rounds, count: 20_000, floor: TaskCalls.actor(),
      subject: TaskCalls.send(Fixture(PlainReducer())))
  }

  /// The same with an operation whose `async` block yields once; the actor's method yields once, too.
  private static let yielding = Row(
    "`await send`, idle lane, a block that yields", floor: "an actor's method that yields",
    bound: .times(4)
  ) { rounds in
    Rounds.alternate(
      rounds, count: 2_000, floor: TaskCalls.yieldingActor(),
      subject: TaskCalls.send(Fixture(YieldingReducer())))
  }

  /// Eight tasks send plain reductions to one lane.
  ///
  /// The floor: eight tasks that dispatch the same reduction, and await its result.
  private static let contended = Row(
    "`await send`, 8 tasks, one lane, plain reduction",
    floor: "`await dispatch(…).result`, 8 tasks", bound: .times(1.2)
  ) { rounds in
    Rounds.alternate(
      rounds, count: 20_000, floor: TaskCalls.results(Fixture(PlainReducer()), tasks: tasks),
      subject: TaskCalls.send(Fixture(PlainReducer()), tasks: tasks))
  }

  /// The same with an `async` block that yields once; the floor's actor lets others in meanwhile, a lane does not.
  private static let contendedYielding = Row(
    "`await send`, 8 tasks, one lane, a block that yields", floor: "8 tasks, one actor",
    bound: .times(8)
  ) { rounds in
    Rounds.alternate(
      rounds, count: 2_000, floor: TaskCalls.yieldingActor(tasks: tasks),
      subject: TaskCalls.send(Fixture(YieldingReducer()), tasks: tasks))
  }

  /// Four stores, each waiting for the one before it, the second one with such a block.
  ///
  /// The floor: four actors, one after the other.
  private static let stores = Row(
    "`await send`, 4 stores with `waitFor`, one block that yields", floor: "four actors",
    bound: .times(5)
  ) { rounds in
    Rounds.alternate(
      rounds, count: 2_000, floor: TaskCalls.actors(4), subject: TaskCalls.sendToStores(4))
  }
}
