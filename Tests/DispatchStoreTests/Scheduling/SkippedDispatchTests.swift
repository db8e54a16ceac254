import Foundation
import Testing

@testable import DispatchStore

@Suite("Dispatches that end while they wait", .timeLimit(.minutes(10)))
struct SkippedDispatchTests {
  let dispatcher = Dispatcher()

  private final class Weak: @unchecked Sendable {
    weak var dispatch: Dispatch?

    init(_ dispatch: Dispatch?) { self.dispatch = dispatch }
  }

  /// Holds the lane until the latch opens; the concurrent queue is suspended.
  private func hold(_ mode: Dispatcher.Mode, until free: Latch) async -> DispatchHandle {
    dispatcher.addStage()
    let began = Latch()
    let handle = dispatcher.dispatch(action: Script.holds(opening: began, until: free), mode: mode)
    await began.opened()
    if mode == .async { dispatcher.queue.isSuspended = true }
    return handle
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func areReleasedBeforeTheirTurnHasCome(_ mode: Dispatcher.Mode) async {
    let free = Latch()
    let held = await hold(mode, until: free)
    let kept = (0..<10).map { _ in
      dispatcher.dispatch(action: Script.adds("kept"), mode: mode)
    }
    var dispatches: [Weak] = []
    for _ in 0..<100 {
      let handles = (0..<50).map { _ in
        dispatcher.dispatch(action: Script.adds("cancelled"), mode: mode)
      }
      for handle in handles { handle.cancel() }
      for handle in handles { #expect(await handle.result["stage"].isCancelled == true) }
      dispatches += handles.map { Weak($0.dispatch) }
    }
    // Twice as many as are left at most, and those of the last removal, which goes on behind the results.
    #expect(dispatches.count { $0.dispatch != nil } < 1_000)
    free.open()
    dispatcher.queue.isSuspended = false
    for handle in kept + [held] { #expect(await handle.result.isSuccess) }
    #expect((dispatcher.store(with: "stage") as? Stage)?.model.count == 10)
  }

  /// Each has waited for another one, and could begin but for the suspension.
  @Test func areReleasedWhileTheQueueIsSuspendedAlsoIfTheyHaveWaitedForOthers() async {
    dispatcher.addStage()
    dispatcher.queue.isSuspended = true
    var dispatches: [Weak] = []
    for _ in 0..<1_000 {
      let before = dispatcher.dispatch(action: Script.adds("before"), mode: .serial)
      let handle = dispatcher.dispatch(action: Script.adds("parked"), options: .after(before))
      before.cancel()
      await before.ended()
      handle.cancel()
      #expect(await handle.result["stage"].isCancelled == true)
      dispatches.append(Weak(handle.dispatch))
    }
    #expect(dispatches.count { $0.dispatch != nil } < 500)
    dispatcher.queue.isSuspended = false
  }

  /// A task that has acquired the lane releases it by its word alone: what was pushed has to be there.
  @Test func areTakenInOnlyWhereADrainerLooksForThem() {
    let pushed = Unmanaged.passRetained(Dispatch())
    defer { pushed.release() }
    for activity in [LaneWord.Activity.held, .drained] {
      let word = LaneWord(pushed, activity)
      #expect(word.takenInByOther == LaneWord(nil, activity))
    }
    #expect(LaneWord(pushed, .acquired).takenInByOther == nil)
    for activity in [LaneWord.Activity.idle, .retired] {
      #expect(LaneWord(nil, activity).takenInByOther == nil)
    }
  }

  /// Tasks whose time passes while another one holds the lane.
  @Test(arguments: Dispatcher.Mode.laneModes)
  func ofTasksAreReleasedToo(_ mode: Dispatcher.Mode) async {
    let (free, dispatcher) = (Latch(), dispatcher)
    let held = await hold(mode, until: free)
    for _ in 0..<20 {
      await withDiscardingTaskGroup { group in
        for _ in 0..<50 {
          group.addTask {
            let result = await dispatcher.send(
              Script.adds("late"), mode: mode, options: .timeout(.milliseconds(1)))
            #expect(result.errorCode == .timedOut)
          }
        }
      }
    }
    let lane = held.dispatch?.schedulerForWaits as? Lane
    let waiting = lane?.state.withLock { $0.order(top: nil).waiting.count } ?? 0
    #expect(waiting < 500, "\(waiting) of 1,000 wait.")
    free.open()
    #expect(await held.result.isSuccess)
  }
}
