import BenchmarkSupport
import DispatchStore

/// A program at several sizes: with the library, and as a user would write it instead.
struct Comparison: Sendable {
  /// One of the ways to write the program.
  struct Contender: Sendable {
    let name: String
    /// Makes the program at a size.
    let workload: @Sendable (_ size: Int) -> Workload
  }

  /// The plot's file, without its extension.
  let fileName: String
  /// The name in the documentation.
  let title: String
  /// What the sizes count.
  let unit: String
  let sizes: [Int]
  /// The library first.
  let contenders: [Contender]
  /// The fewest actions to measure.
  let least: @Sendable (_ size: Int) -> Int

  /// What the picture shows, in words.
  var caption: String { "\(title): time per action against \(unit)" }

  static let all = [stores, lanes, tasks, yieldingTasks, chains]

  private static let stores = Comparison(
    fileName: "stores", title: ".sync to many stores, visited in shuffled order",
    unit: "stores", sizes: [1, 32, 1_000, 10_000, 100_000],
    contenders: [
      Contender(name: ".sync, by identifier") { StoreVisits.byIdentifier(Town(of: $0)) },
      Contender(name: "dictionary of counters with locks") {
        StoreVisits.lockedCounters(Town(of: $0))
      },
    ]
  ) { max(1_000, $0) }

  private static let lanes = Comparison(
    fileName: "many-lanes", title: ".serial(lane:) to many lanes, visited in shuffled order",
    unit: "lanes, with a store each", sizes: [1, 32, 1_000, 100_000],
    contenders: [
      Contender(name: ".serial(lane:)") { LaneVisits.lanes(Town(of: $0)) },
      Contender(name: "a serial DispatchQueue per key") { LaneVisits.queues(Town(of: $0)) },
    ]
  ) { max(1_000, $0) }

  private static let tasks = Comparison(
    fileName: "tasks", title: "await send by tasks on one lane", unit: "tasks",
    sizes: [1, 2, 8, 64],
    contenders: [
      Contender(name: "await send") { TaskCalls.send(Fixture(PlainReducer()), tasks: $0) },
      Contender(name: "an actor's method") { TaskCalls.actor(tasks: $0) },
      Contender(name: "await dispatch(…).result") {
        TaskCalls.results(Fixture(PlainReducer()), tasks: $0)
      },
    ]
  ) { _ in 640 }

  private static let yieldingTasks = Comparison(
    fileName: "yielding-tasks", title: "await send by tasks on one lane, a block that yields once",
    unit: "tasks", sizes: [1, 2, 8, 64],
    contenders: [
      Contender(name: "await send") { TaskCalls.send(Fixture(YieldingReducer()), tasks: $0) },
      Contender(name: "an actor's method that yields") { TaskCalls.yieldingActor(tasks: $0) },
      Contender(name: "await dispatch(…).result") {
        TaskCalls.results(Fixture(YieldingReducer()), tasks: $0)
      },
    ]
  ) { _ in 640 }

  private static let chains = Comparison(
    fileName: "chains", title: "await send to stores that wait for each other, one block yields",
    unit: "stores with waitFor", sizes: [1, 2, 4, 8],
    contenders: [
      Contender(name: "await send") { TaskCalls.sendToStores($0) },
      Contender(name: "as many actors, one after the other") { TaskCalls.actors($0) },
    ]
  ) { _ in 100 }
}
