import BenchmarkSupport
import Dispatch
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
      let queues = Queues(of: size)
      return Rounds.alternate(rounds, count: max(20_000, size)) { count in
        produce(count, by: producers) { turn, ended in
          queues.reduce(Add(turn), at: Town.name(town.index(at: turn)), ended)
        }
      } subject: { count in
        produce(count, by: producers) { visit(town, $0, $1) }
      }
    }
  }

  /// The same by one producer; the floor: the same actions in one lane.
  private static func besideOneLane(_ size: Int) -> Row {
    Row("\(size) lanes, shuffled", floor: "one lane", bound: .times(3)) { rounds in
      let (town, one) = (Town(of: size), Town(of: 1))
      return Rounds.alternate(rounds, count: max(20_000, size)) { count in
        produce(count, by: 1) { visit(one, $0, $1) }
      } subject: { count in
        produce(count, by: 1) { visit(town, $0, $1) }
      }
    }
  }

  /// 1,000 lanes, whose stores' blocks yield once; the floor: an actor for each key, whose method yields, in a task.
  private static let besideActors = Row(
    "1000 lanes, shuffled, blocks that yield", floor: "an actor per key, a task per action",
    bound: .times(3)
  ) { rounds in
    let town = Town(of: 1_000) { YieldingReducer() }
    let actors = Dictionary(
      uniqueKeysWithValues: (0..<1_000).map { (Town.name($0), CounterActor()) })
    return Rounds.alternate(rounds, count: 5_000) { count in
      produce(count, by: 1) { turn, ended in
        let actor = actors[Town.name(town.index(at: turn))]!
        Task {
          await actor.reduceLater(Add(turn))
          ended()
        }
      }
    } subject: { count in
      produce(count, by: 1) { visit(town, $0, $1) }
    }
  }

  private static func visit(_ town: Town, _ turn: Int, _ ended: @escaping @Sendable () -> Void) {
    let index = town.index(at: turn)
    town.dispatcher.dispatch(
      storeIdentifier: Town.name(index), action: Add(turn), mode: .serial(lane: index), then: ended)
  }

  /// Each producer has a window of its own, and begins at another place.
  private static func produce(
    _ count: Int, by producers: Int,
    _ action: @escaping @Sendable (_ turn: Int, _ ended: @escaping @Sendable () -> Void) -> Void
  ) {
    if producers == 1 { return Window().produce(count, action) }
    _ = Producers.nanoseconds(producers) { producer in
      Window().produce(count / producers) { action($0 + producer * 997, $1) }
    }
  }

  /// What a program has that wants an order for each key.
  private final class Queues: Sendable {
    private let queues: [String: (DispatchQueue, LockedCounter)]

    init(of size: Int) {
      queues = Dictionary(
        uniqueKeysWithValues: (0..<size).map {
          (Town.name($0), (DispatchQueue(label: "account"), LockedCounter()))
        })
    }

    func reduce(_ action: Add, at key: String, _ ended: @escaping @Sendable () -> Void) {
      let (queue, counter) = queues[key]!
      queue.async {
        counter.reduce(action)
        ended()
      }
    }
  }
}
