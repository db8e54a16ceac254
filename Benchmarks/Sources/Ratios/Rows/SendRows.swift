import BenchmarkSupport
import Dispatch
import DispatchStore
import Foundation

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
    let (fixture, actor) = (Fixture(PlainReducer()), CounterActor())
    return Rounds.alternate(rounds, count: 20_000) { count in
      inTasks(1, count) { await actor.reduce(Add($0)) }
    } subject: { count in
      inTasks(1, count) { await fixture.dispatcher.send(Add($0), mode: .serial) }
    }
  }

  /// The same with an operation whose `async` block yields once; the actor's method yields once, too.
  private static let yielding = Row(
    "`await send`, idle lane, a block that yields", floor: "an actor's method that yields",
    bound: .times(3)
  ) { rounds in
    let (fixture, actor) = (Fixture(YieldingReducer()), CounterActor())
    return Rounds.alternate(rounds, count: 2_000) { count in
      inTasks(1, count) { await actor.reduceLater(Add($0)) }
    } subject: { count in
      inTasks(1, count) { await fixture.dispatcher.send(Add($0), mode: .serial) }
    }
  }

  /// Eight tasks send plain reductions to one lane.
  ///
  /// The floor: eight tasks that take one lock for the same reduction.
  private static let contended = Row(
    "`await send`, 8 tasks, one lane, plain reduction", floor: "8 tasks, one lock",
    bound: .times(3)
  ) { rounds in
    let (fixture, counter) = (Fixture(PlainReducer()), LockedCounter())
    return Rounds.alternate(rounds, count: 20_000) { count in
      inTasks(tasks, count) { counter.reduce(Add($0)) }
    } subject: { count in
      inTasks(tasks, count) { await fixture.dispatcher.send(Add($0), mode: .serial) }
    }
  }

  /// The same with an `async` block that yields once; the floor's actor lets others in meanwhile, a lane does not.
  private static let contendedYielding = Row(
    "`await send`, 8 tasks, one lane, a block that yields", floor: "8 tasks, one actor",
    bound: .times(3)
  ) { rounds in
    let (fixture, actor) = (Fixture(YieldingReducer()), CounterActor())
    return Rounds.alternate(rounds, count: 2_000) { count in
      inTasks(tasks, count) { await actor.reduceLater(Add($0)) }
    } subject: { count in
      inTasks(tasks, count) { await fixture.dispatcher.send(Add($0), mode: .serial) }
    }
  }

  /// Four stores, each waiting for the one before it, the second one with such a block.
  ///
  /// The floor: four actors, one after the other.
  private static let stores = Row(
    "`await send`, 4 stores with `waitFor`, one block that yields", floor: "four actors",
    bound: .times(3)
  ) { rounds in
    let dispatcher = Dispatcher(name: "four")
    var last: WaitFor = .none
    for place in 0..<4 {
      let store = dispatcher.register(store: Store(reducer: reducer(place)), waitFor: last)
      last = WaitFor([store.identifier])
    }
    let actors = (0..<4).map { _ in CounterActor() }
    return Rounds.alternate(rounds, count: 2_000) { count in
      inTasks(1, count) { index in
        await actors[0].reduce(Add(index))
        await actors[1].reduceLater(Add(index))
        await actors[2].reduce(Add(index))
        await actors[3].reduce(Add(index))
      }
    } subject: { count in
      inTasks(1, count) { await dispatcher.send(Add($0), mode: .serial) }
    }
  }

  private static func reducer(_ place: Int) -> sending Reducer<Counter, Add> {
    place == 1 ? YieldingReducer() : PlainReducer()
  }

  /// Runs so many actions in all, in tasks side by side; the calling thread waits.
  private static func inTasks(
    _ tasks: Int, _ count: Int, _ body: @escaping @Sendable (Int) async -> Void
  ) {
    let done = DispatchSemaphore(value: 0)
    Task.detached {
      await withDiscardingTaskGroup { group in
        for _ in 0..<tasks {
          group.addTask { for index in 0..<(count / tasks) { await body(index) } }
        }
      }
      done.signal()
    }
    done.wait()
  }
}
