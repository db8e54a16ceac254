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

  @Test func aboveTwoThousandInBlocksOneMoreIsRefusedAndReported() async {
    await #expect(processExitsWith: .success) { await Blocking().exceed(2_048, by: 64) }
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

  /// More blocks than there may be wait for a handle, and by `.sync` dispatches.
  func exceed(_ bound: Int, by excess: Int) async {
    let (dispatcher, free, codes) = (dispatcher, Latch(), Recorder<DispatchError.Code?>())
    let warnings = dispatcher.recordWarnings()
    let awaited = other.dispatch(action: Script.suspends { _ in await free.opened() })
    let waits = Script.runs { _ in codes.record(awaited.wait().errorCode) }
    for index in 0..<bound { dispatcher.dispatch(action: waits, mode: .serial(lane: index)) }
    for index in 0..<excess {
      let blocks = Script.runs { _ in
        let waits = Script.suspends { _ in await awaited.ended() }
        codes.record(
          dispatcher.dispatch(action: waits, mode: .sync).resultIfEnded!.errorCode)
      }
      dispatcher.dispatch(
        action: index.isMultiple(of: 2) ? waits : blocks, mode: .serial(lane: -1 - index))
    }
    // Several threads may be about to wait, and find room for one.
    let refused = await codes.first(excess / 2)
    precondition(refused.allSatisfy { $0 == .wouldDeadlock }, "\(refused)")
    precondition(warnings.all == [.tooManyBlockedThreads], "\(warnings.all)")
    free.open()
    let all = await codes.first(bound + excess)
    precondition(all.count { $0 == nil } <= bound + excess / 2)
    // Those that have ended leave room.
    let again = await dispatcher.dispatch(action: waits).result
    precondition(again.isSuccess && codes.all.last! == nil)
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
