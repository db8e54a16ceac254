import DispatchStoreTesting
import Testing

@testable import DispatchStore

@Suite("The end of a dispatch")
struct DispatchEndTests {
  /// A repeating schedule skipped a run, because the completion of the one before came first.
  @Test func leavesWhatIsAddedMeanwhileToItsCallerSoThatItComesBeforeTheResult() async {
    let log = Recorder<String>()
    let result = await Dispatcher().dispatch(action: Script.adds("x")).result
    var state = DispatchState(isRunning: true)
    let isKept = state.keep({ log.record("release") }, until: .beforeResult)
    #expect(isKept)
    _ = state.beginEnding()
    for release in state.takeReleases() { release() }
    var idle: [Waiter] = []
    #expect(state.wait(Waiter { log.record("waiter") }, removing: &idle))
    let isLateKept = state.keep({ log.record("lost") }, until: .beforeResult)
    #expect(!isLateKept)
    let isPlaceKept = state.keep({ log.record("lost") }, until: .placeFree)
    #expect(!isPlaceKept)
    let isOverKept = state.keep({ log.record("over") }, until: .over)
    #expect(isOverKept)
    for call in state.end(result) { call() }
    #expect(log.all == ["release", "waiter", "over"])
  }

  @Test func doesNotStartOnceItsTaskIsCancelled() {
    var state = DispatchState(isRunning: false)
    state.isTaskCancelled = true
    guard case .skip = state.start(),
      case .end(wasParked: false, wasDelayed: false) = state.cancel()
    else {
      return #expect(Bool(false))
    }
  }

  @Test func waitsWhoseLimitsHavePassedLeaveNothing() async {
    let (dispatcher, free) = (Dispatcher(), Latch())
    dispatcher.addStage()
    let handle = dispatcher.dispatch(action: Script.suspends { _ in await free.opened() })
    await onOwnThread {
      for _ in 0..<1_000 { #expect(handle.wait(for: .nanoseconds(1)) == nil) }
    }
    #expect(handle.dispatch?.makeDetails().withState(\.waiterCount) == 0)
    free.open()
    _ = await handle.result
  }
}
