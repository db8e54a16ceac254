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
    #expect(state.keepRelease { log.record("release") })
    _ = state.beginEnding()
    for release in state.takeReleases() { release() }
    var idle: [Waiter] = []
    #expect(state.wait(Waiter { log.record("waiter") }, removing: &idle))
    #expect(!state.keepRelease { log.record("lost") })
    #expect(!state.keepPlaceRelease { log.record("lost") })
    for call in state.end(result) { call() }
    #expect(log.all == ["release", "waiter"])
  }
}
