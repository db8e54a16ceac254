import DispatchStoreTesting
import Foundation
import Testing

@testable import DispatchStore

@Suite("Limits under load", .timeLimit(.minutes(10)))
struct LimitLoadTests {
  /// The last dispatch of a lane may end, and release its limit, while another thread looks that up.
  @Test func aLaneHasOneLimitAlsoIfAnotherThreadReleasesIt() async {
    let (limits, key) = (KeyedTable<DispatchLimit>(), TypedKey("lane"))
    let others = Recorder<Int>()
    await withDiscardingTaskGroup { group in
      for thread in 0..<4 {
        group.addTask {
          for round in 0..<Load.count(50_000) {
            let limit = limits.limit(round % 2 == 0 ? key : TypedKey("lane"), 1, .reject)
            if limits.limit(key, 1, .reject) !== limit { others.record(thread) }
            withExtendedLifetime(limit) {}
          }
        }
      }
    }
    #expect(others.count == 0)
    #expect(limits.count == 0)
  }

  enum Flood: CaseIterable {
    case rejected, droppedNewest, droppedOldest, latest, skipped

    var options: DispatchOptions {
      switch self {
      case .rejected: .limited(by: DispatchLimit(1, overflow: .reject))
      case .droppedNewest: .limited(by: DispatchLimit(1, overflow: .dropNewest))
      case .droppedOldest: .limited(by: DispatchLimit(1, overflow: .dropOldest))
      case .latest: .cancelsPrevious("key")
      case .skipped: .skippedIfInFlight("key")
      }
    }
  }

  /// One thread runs completions, beside the blocked place, so the producer runs those above the bound.
  @Test(arguments: Flood.allCases, [Dispatcher.Mode.async, .serial, .serial(lane: 1)])
  func endsThatWaitForAThreadAreBounded(_ flood: Flood, _ mode: Dispatcher.Mode) async {
    let dispatcher = Dispatcher(queue: .wide(1))
    dispatcher.addStage()
    let (started, free, completions) = (Latch(), Latch(), Locked(0))
    let holds = Script.blocks(opening: started, until: free)
    let held = dispatcher.dispatch(action: holds)
    await started.opened()
    let (options, count) = (flood.options, 2_000)
    for _ in 0..<count {
      dispatcher.dispatch(Script.runs { _ in }, mode: mode, options: options) { _ in
        completions.withLock { $0 += 1 }
      }
    }
    let pending = count - completions.withLock { $0 }
    // One of them is accepted, the last one's end comes with its own call, and the thread is at another one's.
    #expect(pending <= PendingEnds.bound + 3)
    free.open()
    #expect(await held.result.isSuccess)
    #expect(await dispatcher.drain().isComplete)
    #expect(completions.withLock { $0 } == count)
  }

  /// A completion that dispatches again at once is not called inside of itself.
  @Test func completionsThatDispatchAgainAreNotNested() async {
    let dispatcher = Dispatcher(queue: .wide(1))
    dispatcher.addStage()
    let (started, free, completions) = (Latch(), Latch(), Locked(0))
    let holds = Script.blocks(opening: started, until: free)
    let options = DispatchOptions.limited(by: DispatchLimit(1, overflow: .reject))
    let held = dispatcher.dispatch(action: holds, options: options)
    await started.opened()
    @Sendable func again(_ count: Int) {
      completions.withLock { $0 += 1 }
      guard count > 0 else { return }
      dispatcher.dispatch(Script.runs { _ in }, options: options) { _ in
        again(count - 1)
      }
    }
    for _ in 0..<1_100 {
      dispatcher.dispatch(Script.runs { _ in }, options: options) { _ in again(20) }
    }
    free.open()
    #expect(await held.result.isSuccess)
    #expect(await dispatcher.drain().isComplete)
    #expect(completions.withLock { $0 } == 1_100 * 21)
  }
}
