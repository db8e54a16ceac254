import BenchmarkSupport
import DispatchStore

/// Many lanes that are visited in turn, a store each, with at most 64 actions in flight for each producer.
enum LaneRows {
  static let all =
    sizes.map { besideQueues($0, producers: 1) } + [besideQueues(1_000, producers: 8)]
    + sizes.map(besideOneLane) + [besideActors]

  private static let sizes = [32, 1_000, 100_000]

  /// Threads visit all lanes in shuffled order, each lane with its store.
  ///
  /// The floor: a serial `DispatchQueue` for each key, with a closure for each action that reduces a locked counter.
  private static func besideQueues(_ size: Int, producers: Int) -> Row {
    Row(
      "\(size) lanes, shuffled, \(producers == 1 ? "1 producer" : "\(producers) producers")",
      floor: "a serial queue per key", bound: .times(1.5)
    ) { rounds in
      let town = Town(of: size)
      return Rounds.alternate(
        rounds, count: max(20_000, size), floor: LaneVisits.queues(town, producers: producers),
        subject: LaneVisits.lanes(town, producers: producers))
    }
  }

  /// The same by one producer; the floor: the same actions in one lane.
  private static func besideOneLane(_ size: Int) -> Row {
    Row("\(size) lanes, shuffled", floor: "one lane", bound: .times(5)) { rounds in
      Rounds.alternate(
        rounds, count: max(20_000, size), floor: LaneVisits.lanes(Town(of: 1)),
        subject: LaneVisits.lanes(Town(of: size)))
    }
  }

  /// 1,000 lanes, whose stores' blocks yield once; the floor: an actor for each key, whose method yields, in a task.
  private static let besideActors = Row(
    "1000 lanes, shuffled, blocks that yield", floor: "an actor per key, a task per action",
    bound: .times(3)
  ) { rounds in
    let town = Town(of: 1_000) { YieldingReducer() }
    return Rounds.alternate(
      rounds, count: 5_000, floor: LaneVisits.yieldingActors(town), subject: LaneVisits.lanes(town))
  }
}
