private import Dispatch
private import DispatchStore

/// Threads visit all keys of a town in shuffled order, each with at most 64 actions in flight.
public enum LaneVisits {
  /// Called with a turn, and with the closure to call at the action's end, on any thread.
  public typealias Visit =
    @Sendable (_ turn: Int, _ ended: @escaping @Sendable () -> Void) -> Void

  /// A lane and a store for each key.
  public static func lanes(_ town: Town, producers: Int = 1) -> Workload {
    produce(by: producers, lane(town))
  }

  /// What a program has that wants an order for each key: a serial `DispatchQueue`, with a closure for each action
  /// that reduces a counter with a lock.
  public static func queues(_ town: Town, producers: Int = 1) -> Workload {
    produce(by: producers, queue(town))
  }

  /// An actor for each key, whose method yields, in a task for each action.
  public static func yieldingActors(_ town: Town) -> Workload {
    let actors = town.byName { CounterActor() }
    return produce(by: 1) { turn, ended in
      let actor = actors[Town.name(town.index(at: turn))]!
      Task {
        await actor.reduceLater(Add(turn))
        ended()
      }
    }
  }

  /// One visit of a lane.
  public static func lane(_ town: Town) -> Visit {
    { turn, ended in
      let index = town.index(at: turn)
      town.dispatcher.dispatch(
        storeIdentifier: Town.name(index), action: Add(turn), mode: .serial(lane: index),
        then: ended)
    }
  }

  /// One visit of a queue.
  public static func queue(_ town: Town) -> Visit {
    let queues = town.byName { (DispatchQueue(label: "account"), LockedCounter()) }
    return { turn, ended in
      let (queue, counter) = queues[Town.name(town.index(at: turn))]!
      queue.async {
        counter.reduce(Add(turn))
        ended()
      }
    }
  }

  /// Each producer has a separate window, and begins at another place.
  private static func produce(by producers: Int, _ visit: @escaping Visit) -> Workload {
    { count in
      if producers == 1 { return Window().produce(count, visit) }
      _ = Producers.nanoseconds(producers) { producer in
        Window().produce(count / producers) { visit($0 + producer * 997, $1) }
      }
    }
  }
}
