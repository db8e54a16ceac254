import Foundation
import Testing

@testable import DispatchStore

/// Tasks that contend for a lane whose actions only reduce: these run on the lane's thread.
@Suite("Sent to a busy lane", .timeLimit(.minutes(10)))
struct TaskTurnTests {
  @TaskLocal fileprivate static var producer = -1
  @TaskLocal fileprivate static var carried = "none"

  private let dispatcher = Dispatcher()
  private static let producers = 16
  private static let modes: [Dispatcher.Mode] = [.serial, .serial(lane: "turns"), .mainThread]

  /// Sends in each task, which has its number bound, `count` actions.
  private func contend(
    _ mode: Dispatcher.Mode, _ count: Int,
    each: @escaping @Sendable (_ producer: Int, DispatchResult) async -> Void = { _, _ in }
  ) async -> Store<Turns, Turn> {
    let store = dispatcher.register(store: Store(identifier: "turns", reducer: TurnReducer()))
    await withDiscardingTaskGroup { group in
      for producer in 0..<Self.producers {
        group.addTask {
          await Self.$producer.withValue(producer) {
            for step in 0..<count {
              await each(
                producer,
                (await store.send(Turn(producer: producer, step: step), mode: mode)).result)
            }
          }
        }
      }
    }
    return store
  }

  @Test(arguments: modes)
  func areEachTheirTasksOwnAndInItsOrder(_ mode: Dispatcher.Mode) async {
    let count = Load.count(500)
    let store = await contend(mode, count) { _, result in #expect(result.isSuccess) }
    #expect(store.version == UInt64(Self.producers * count))
    #expect(store.model.steps == Array(repeating: count, count: Self.producers))
    #expect(store.model.foreign == 0, "Reducers ran with the values of another task.")
    await dispatcher.lanesAreGone()
  }

  private static var context: String {
    let task = withUnsafeCurrentTask { $0 == nil ? "no task" : "a task" }
    return "\(carried) \(producer) \(task)"
  }

  /// `willDispatch` runs in the caller's task.
  @Test func reducesOnTheLanesThreadWithTheCarriedValuesAndNoOthers() async {
    let dispatcher = Dispatcher(name: "carrying", carrying: [CarriedTaskLocal(Self.$carried)])
    let (mode, log) = (Dispatcher.Mode.serial(lane: "turns"), Recorder<String>())
    let (hasBegun, mayEnd) = (EventCount(of: 1), DispatchSemaphore(value: 0))
    let holder = dispatcher.register(
      store: Store(identifier: "holder", reducer: HoldingReducer(hasBegun, until: mayEnd)))
    let reducer = FunctionReducer<Turns, Turn> { (_: inout Turns, _: Turn) in
      log.record("reducer " + Self.context)
    }
    let store = dispatcher.register(store: Store(identifier: "turns", reducer: reducer))
    let observer = store.observe(.model) { _ in log.record("observer " + Self.context) }
    let first = holder.dispatch(Turn(producer: 0, step: nil), mode: mode)
    await hasBegun.full()
    let sent = Task {
      await Self.$carried.withValue("c") {
        await Self.$producer.withValue(3) {
          await store.send(Turn(producer: 3, step: nil), mode: .init(mode)!) { _ in
            log.record("completion " + Self.context)
          }
        }
      }
    }
    while !dispatcher.scheduler(of: mode).hasWaitingDispatches { await Task.yield() }
    mayEnd.signal()
    #expect(await sent.value.isSuccess)
    #expect(await first.result.isSuccess)
    let context = "c -1 no task"
    #expect(log.all == ["reducer \(context)", "observer \(context)", "completion \(context)"])
    observer.cancel()
  }

  /// What waits on the main actor, or on an actor of the program's, goes on there.
  @Test(arguments: modes)
  func bringTheirTasksBackToTheirActors(_ mode: Dispatcher.Mode) async {
    let store = dispatcher.register(store: Store(identifier: "turns", reducer: TurnReducer()))
    let count = Load.count(200)
    let homes = (0..<4).map { _ in Home() }
    await withDiscardingTaskGroup { group in
      for (index, home) in homes.enumerated() {
        group.addTask { await home.send(count, by: index, to: store, mode) }
        group.addTask { await Self.sendFromMainActor(count, by: 4 + index, to: store, mode) }
      }
    }
    #expect(store.version == UInt64(8 * count))
  }

  @MainActor
  private static func sendFromMainActor(
    _ count: Int, by producer: Int, to store: Store<Turns, Turn>, _ mode: Dispatcher.Mode
  ) async {
    for step in 0..<count {
      await store.send(Turn(producer: producer, step: step), mode: mode)
      MainActor.preconditionIsolated()
    }
  }

  /// A task that is cancelled while it waits takes no turn, and the turns of the others go on.
  @Test(arguments: modes)
  func arePassedOverWhereTheirTasksAreCancelled(_ mode: Dispatcher.Mode) async {
    let (ended, run) = (EventCount(of: .max), EventCount(of: .max))
    let store = dispatcher.register(store: Store(identifier: "turns", reducer: TurnReducer()))
    for _ in 0..<Load.count(20) {
      await withTaskGroup { group in
        for producer in 0..<Self.producers {
          group.addTask {
            for _ in 0..<20 {
              let result = await store.send(Turn(producer: producer, step: nil), mode: mode)
              ended.add()
              if result.isSuccess { run.add() }
              #expect(result.isSuccess || result.error is CancellationError, "\(result)")
            }
          }
        }
        await Task.yield()
        group.cancelAll()
      }
    }
    #expect(ended.count == Load.count(20) * Self.producers * 20)
    #expect(store.version == UInt64(run.count))
    #expect(await store.send(Turn(producer: 0, step: nil), mode: mode).isSuccess)
  }

  /// Blocks send into the lane, too: their threads take no turns, for which others may wait.
  @Test func mixWithThoseOfBlocksAndOfDispatches() async {
    let store = dispatcher.register(store: Store(identifier: "turns", reducer: TurnReducer()))
    let (count, lane) = (Load.count(200), Dispatcher.Mode.serial(lane: "turns"))
    let sends = ClosureReducer<Turns, Turn> { action, block in
      ActionOperation(action: action, store: block) { action, _ async in
        await store.send(action, mode: lane)
      }
    }
    dispatcher.register(store: Store(identifier: "block", reducer: sends))
    await withDiscardingTaskGroup { group in
      for producer in 0..<4 {
        group.addTask {
          for _ in 0..<count { await store.send(Turn(producer: producer, step: nil), mode: lane) }
        }
        group.addTask { [dispatcher] in
          for _ in 0..<count {
            let mode = Dispatcher.Mode.serial(lane: producer)
            await dispatcher.send(Turn(producer: producer, step: nil), to: "block", mode: mode)
          }
        }
        group.addTask {
          for _ in 0..<count {
            store.dispatch(Turn(producer: producer, step: nil), mode: lane)
          }
        }
      }
    }
    await store.send(Turn(producer: 0, step: nil), mode: lane)
    #expect(store.version == UInt64(12 * count + 1))
  }
}

extension TaskTurnTests {
  /// The thread of a task that releases its lane has the task's actor: code of another task's turn may wait for that.
  @Test(.enabled(if: ProcessInfo.processInfo.activeProcessorCount > 1))
  func runNoCodeOfOthersOnTheStackOfATask() async {
    let mode = Dispatcher.Mode.serial(lane: "turns")
    let (home, hasBegun, mayEnd) = (Home(), EventCount(of: 1), DispatchSemaphore(value: 0))
    let first = dispatcher.register(
      store: Store(identifier: "first", reducer: HoldingReducer(hasBegun, until: mayEnd)))
    let second = dispatcher.register(store: Store(identifier: "second", reducer: TurnReducer()))
    let visit = ClosureReducer<Turns, Turn> { action, store in
      ActionOperation(action: action, store: store) { _, _ async in await home.visit() }
    }
    let visits = dispatcher.register(store: Store(identifier: "visits", reducer: visit))
    let observer = second.observe(.model) { _ in
      visits.dispatch(Turn(producer: 0, step: nil), mode: .sync)
    }
    async let ofHome: Void = home.send(1, by: 0, to: first, mode)
    await hasBegun.full()
    async let other = second.send(Turn(producer: 1, step: nil), mode: mode)
    while !dispatcher.scheduler(of: mode).hasWaitingDispatches { await Task.yield() }
    mayEnd.signal()
    #expect(await other.isSuccess)
    await ofHome
    #expect(await home.visits == 1)
    observer.cancel()
  }
}

/// Its first action holds the lane until it may end.
private final class HoldingReducer: Reducer<Turns, Turn> {
  private let hasBegun: EventCount
  private let mayEnd: DispatchSemaphore

  init(_ hasBegun: EventCount, until mayEnd: DispatchSemaphore) {
    (self.hasBegun, self.mayEnd) = (hasBegun, mayEnd)
  }

  override func reduce(into model: inout Turns, action: Turn) {
    hasBegun.add()
    mayEnd.wait()
  }
}

private struct Turn: ActionType {
  let producer: Int
  /// Nil where neither the order nor the task's values count.
  let step: Int?
}

private struct Turns: ModelType {
  /// By producer: the next step.
  var steps = Array(repeating: 0, count: 16)
  /// How many found the values of another task.
  var foreign = 0
}

private final class TurnReducer: Reducer<Turns, Turn> {
  override func reduce(into model: inout Turns, action: Turn) {
    guard let step = action.step else { return }
    if TaskTurnTests.producer != action.producer, TaskTurnTests.producer >= 0 { model.foreign += 1 }
    if model.steps[action.producer] == step { model.steps[action.producer] += 1 }
  }
}

private actor Home {
  private(set) var visits = 0

  func visit() {
    visits += 1
  }

  func send(
    _ count: Int, by producer: Int, to store: Store<Turns, Turn>, _ mode: Dispatcher.Mode
  ) async {
    for step in 0..<count {
      await store.send(Turn(producer: producer, step: step), mode: mode)
      preconditionIsolated()
    }
  }
}
