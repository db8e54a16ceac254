import DispatchStore
import Foundation
import Testing

/// A wait that can end although it looks like a deadlock, and one that can't although it does not.
@Suite(.timeLimit(.minutes(10)))
struct CancelledWaitTests {
  @Test(arguments: Dispatcher.Mode.laneModes)
  func aDispatchThatWasCancelledOnTheLaneMayBeAwaitedThere(mode: Dispatcher.Mode) async {
    let (dispatcher, results) = (Dispatcher(), Recorder<DispatchResult>())
    dispatcher.addStage()
    let script = Script.suspends { _ in
      let handle = dispatcher.dispatch(action: Script.adds("never"), mode: mode)
      handle.cancel()
      results.record(await handle.result)
    }
    for _ in 0..<5 { _ = await dispatcher.dispatch(action: script, mode: mode).result }
    for result in results.all { #expect(result["stage"].isCancelled == true) }
    #expect(results.count == 5)
  }

  /// The block's jobs run on the main queue, which its `.sync` caller blocks.
  @Test func aSyncBlockOnTheMainQueueMayNotAwaitTheMainLane() async {
    await #expect(processExitsWith: .success) {
      alarm(20)
      let (dispatcher, errors) = (Dispatcher(), Recorder<DispatchError.Code?>())
      dispatcher.addStage()
      await MainActor.run {
        let script = Script.suspends { _ in
          let handle = dispatcher.dispatch(action: Script.adds("main"), mode: .mainThread)
          errors.record((await handle.result.error as? DispatchError)?.code)
        }
        _ = dispatcher.dispatch(action: script, mode: .sync)
      }
      #expect(errors.all == [.wouldDeadlock])
    }
  }
}
