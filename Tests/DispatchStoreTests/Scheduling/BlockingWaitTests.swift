import DispatchStore
import Foundation
import Testing

/// Many threads that block in the library at once: more than the system gives out.
///
/// In processes of their own, from which they take all threads.
@Suite("Blocking waits", .serialized, .timeLimit(.minutes(10)))
struct BlockingWaitTests {
  @Test func aThousandOnPlainThreadsEnd() async {
    await #expect(processExitsWith: .success) { await Blocking.runAll(on: .plainThreads) }
  }

  @Test func aThousandOnThreadsOfTheSystemEnd() async {
    await #expect(processExitsWith: .success) { await Blocking.runAll(on: .systemThreads) }
  }

  @Test func aThousandInLanesEnd() async {
    await #expect(processExitsWith: .success) { await Blocking.runAll(on: .lanes) }
  }

  @Test func aThousandOnTheConcurrentQueueEnd() async {
    await #expect(processExitsWith: .success) { await Blocking.runAll(on: .concurrentQueue) }
  }

  @Test func threeHundredInsideEachOtherEnd() async {
    await #expect(processExitsWith: .success) {
      for isLane in [true, false] { await Blocking().nest(300, inLanes: isLane) }
    }
  }

  @Test func thoseOfTasksOnAllProcessorsEnd() async {
    await #expect(processExitsWith: .success) {
      await Blocking().blockTasks { dispatcher, jobs in
        _ = await dispatcher.dispatch(action: jobs).result
      }
    }
  }

  @Test func thoseOfTasksWhoseBlocksSendEnd() async {
    await #expect(processExitsWith: .success) {
      await Blocking().blockTasks { dispatcher, jobs in await dispatcher.send(jobs) }
    }
    await #expect(processExitsWith: .success) {
      await Blocking().blockTasks { dispatcher, jobs in
        await dispatcher.send(
          Script.suspends { _ in await dispatcher.send(jobs, mode: .serial(lane: "inner")) })
      }
    }
  }
}

/// Where threads block.
private enum Place {
  case plainThreads, systemThreads, lanes, concurrentQueue
}

private struct Blocking {
  let dispatcher = Dispatcher()
  let other = Dispatcher()
  let ends = EventCount(of: 1_000)

  init() {
    dispatcher.addStage()
    other.addStage()
  }

  static func runAll(on place: Place) async {
    await Blocking().waitForHandles(on: place)
    await Blocking().awaitInBlocks(on: place)
  }

  private func run(_ index: Int, on place: Place, _ body: @escaping @Sendable () -> Void) {
    switch place {
    case .plainThreads: Thread(block: body).start()
    case .systemThreads: DispatchQueue.global().async(execute: body)
    case .lanes:
      dispatcher.dispatch(action: Script.runs { _ in body() }, mode: .serial(lane: index))
    case .concurrentQueue: dispatcher.dispatch(action: Script.runs { _ in body() })
    }
  }

  /// Waits for an action on the concurrent queue, of this dispatcher or another one.
  private func waitForHandles(on place: Place) async {
    let (dispatcher, other, ends, dispatched) = (dispatcher, other, ends, EventCount(of: 1_000))
    for index in 0..<1_000 {
      run(index, on: place) {
        let awaited = index.isMultiple(of: 2) ? dispatcher : other
        let handle = awaited.dispatch(
          action: Script.suspends { _ in
            // Those on threads of the system come one after the other.
            if place != .systemThreads { await dispatched.full() }
          })
        dispatched.add()
        dispatcher.dispatch(action: Script.runs { _ in }, mode: .sync, options: .after(handle))
        ends.add()
      }
    }
    await ends.full()
  }

  /// Waits for an `async` block that awaits another lane.
  private func awaitInBlocks(on place: Place) async {
    let (dispatcher, ends) = (dispatcher, ends)
    for index in 0..<1_000 {
      run(index, on: place) {
        let inner = Script.suspends { _ in
          _ = await dispatcher.dispatch(
            action: Script.runs { _ in }, mode: .serial(lane: "other \(index % 100)")
          ).result
        }
        dispatcher.dispatch(action: inner, mode: .sync)
        ends.add()
      }
    }
    await ends.full()
  }

  func nest(_ depth: Int, inLanes isLane: Bool) async {
    let (dispatcher, levels) = (dispatcher, EventCount(of: depth))
    @Sendable func script(_ level: Int) -> Script {
      .runs { _ in
        if level < depth {
          let handle = dispatcher.dispatch(
            action: script(level + 1), mode: isLane ? .serial(lane: level) : .async)
          dispatcher.dispatch(
            action: Script.suspends { _ in _ = await handle.result }, mode: .sync)
        }
        levels.add()
      }
    }
    dispatcher.dispatch(action: script(1), mode: isLane ? .serial : .async)
    await levels.full()
  }

  /// Each task blocks a thread of the cooperative pool.
  ///
  /// - Parameter run: Runs the jobs of another block in the block that the task waits for.
  func blockTasks(_ run: @escaping @Sendable (Dispatcher, Script) async -> Void) async {
    await withTaskGroup { [dispatcher] group in
      for _ in 0..<(4 * ProcessInfo.processInfo.activeProcessorCount) {
        group.addTask {
          let inner = Script.suspends { _ in
            await run(dispatcher, Script.suspends { _ in await Task.yield() })
          }
          dispatcher.dispatch(action: inner, mode: .sync)
        }
      }
    }
  }
}
