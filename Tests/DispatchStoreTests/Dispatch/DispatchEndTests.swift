import DispatchStoreTesting
import Testing

@testable import DispatchStore

@Suite("The end of a dispatch")
struct DispatchEndTests {
  /// A repeating schedule skipped a run, because the completion of the one before came first.
  @Test func releasesWhatIsAddedMeanwhileBeforeAnyoneHearsOfIt() async {
    let log = Recorder<String>()
    let result = await Dispatcher().dispatch(action: Script.adds("x")).result
    var state = DispatchState(isRunning: true)
    _ = state.beginEnding()
    #expect(state.takeReleases().isEmpty)
    #expect(state.wait { log.record("waiter") })
    #expect(state.keepRelease { log.record("release") })
    #expect(state.keepPlaceRelease { log.record("place") })
    for call in state.end(result) { call() }
    #expect(log.all == ["place", "release", "waiter"])
  }
}
