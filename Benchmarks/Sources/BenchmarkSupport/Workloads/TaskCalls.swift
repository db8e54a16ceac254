private import Dispatch
public import DispatchStore

/// Tasks side by side, each of which awaits its actions one after the other.
public enum TaskCalls {
  /// Structured dispatches to the default lane.
  public static func send(_ fixture: Fixture<Add>, tasks: Int = 1) -> Workload {
    inTasks(tasks) { _ = await fixture.dispatcher.send(Add($0), mode: .serial) }
  }

  /// Structured dispatches to the default lane with options.
  public static func send(
    _ fixture: Fixture<Add>, options: @escaping @Sendable (_ index: Int) -> DispatchOptions
  ) -> Workload {
    inTasks(1) { _ = await fixture.dispatcher.send(Add($0), mode: .serial, options: options($0)) }
  }

  /// Dispatches to the default lane, of which each task awaits the handle.
  public static func results(_ fixture: Fixture<Add>, tasks: Int = 1) -> Workload {
    inTasks(tasks) {
      _ = await fixture.dispatcher.dispatch(action: Add($0), mode: .serial).result
    }
  }

  /// The same to as many lanes, which each task visits in turn.
  public static func results(_ fixture: Fixture<Add>, lanes: Int) -> Workload {
    inTasks(1) {
      let mode = Dispatcher.Mode.serial(lane: $0 % lanes)
      _ = await fixture.dispatcher.dispatch(action: Add($0), mode: mode).result
    }
  }

  /// Calls of one actor's method, from outside of the actor.
  public static func actor(tasks: Int = 1) -> Workload {
    let actor = CounterActor()
    return inTasks(tasks) { await actor.reduce(Add($0)) }
  }

  /// Calls of a method that yields once; the actor lets others in meanwhile, a lane does not.
  public static func yieldingActor(tasks: Int = 1) -> Workload {
    let actor = CounterActor()
    return inTasks(tasks) { await actor.reduceLater(Add($0)) }
  }

  /// Structured dispatches to stores of which each waits for the one before it, and one has an `async` block that
  /// yields once.
  public static func sendToStores(_ count: Int) -> Workload {
    let dispatcher = Dispatcher(name: "\(count) stores")
    var last: WaitFor = []
    for place in 0..<count {
      let reducer = reducer(isYielding: isYielding(place, of: count))
      last = WaitFor([dispatcher.register(store: Store(reducer: reducer), waitFor: last).identifier]
      )
    }
    return inTasks(1) { _ = await dispatcher.send(Add($0), mode: .serial) }
  }

  /// Calls of as many actors, one after the other, of which the same one yields.
  public static func actors(_ count: Int) -> Workload {
    let actors = (0..<count).map { (CounterActor(), isYielding($0, of: count)) }
    return inTasks(1) { index in
      for (actor, isYielding) in actors {
        if isYielding {
          await actor.reduceLater(Add(index))
        } else {
          await actor.reduce(Add(index))
        }
      }
    }
  }

  /// Not the first one, where there are several: so the action is under way by then.
  private static func isYielding(_ place: Int, of count: Int) -> Bool { place == min(1, count - 1) }

  private static func reducer(isYielding: Bool) -> sending Reducer<Counter, Add> {
    isYielding ? YieldingReducer() : PlainReducer()
  }

  /// Runs the actions in all tasks together; the calling thread waits.
  private static func inTasks(
    _ tasks: Int, _ body: @escaping @Sendable (_ index: Int) async -> Void
  ) -> Workload {
    { count in
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
}
