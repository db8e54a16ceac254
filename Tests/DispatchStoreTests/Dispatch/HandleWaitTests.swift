import DispatchStore
import Foundation
import Testing

/// Waiting for a handle on a thread, and closures that it calls at the end.
@Suite(.timeLimit(.minutes(10)))
struct HandleWaitTests {
  private var (dispatcher, stage) = makeStage()
  private let finish = Latch()

  /// An action that ends once `finish` is opened.
  private var held: Script { Script.suspends { [finish] _ in await finish.opened() } }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func waitReturnsTheResultAfterTheCompletion(_ mode: Dispatcher.Mode) async {
    let completions = Recorder<Int>()
    let handle = dispatcher.dispatch(action: Script.adds("1"), mode: mode) { completions.record(1) }
    let result = await onOwnThread { handle.wait() }
    #expect(result.isSuccess && result.dispatchID == handle.dispatchID)
    #expect(completions.all == [1])
  }

  @Test(arguments: [Dispatcher.Mode.async, .serial, .serial(lane: "named"), .mainThread])
  func aLimitThatHasPassedEndsTheWaitAndNotTheDispatch(_ mode: Dispatcher.Mode) async {
    let handle = dispatcher.dispatch(action: held, mode: mode)
    let early = await onOwnThread { handle.wait(for: .milliseconds(1)) }
    #expect(early == nil)
    #expect(await onOwnThread { handle.wait(for: .zero) } == nil)
    finish.open()
    let late = await onOwnThread { handle.wait(for: .seconds(3_600)) }
    #expect(late?.isSuccess == true)
  }

  @Test func aLimitMayBeAsLongAsADurationIs() async {
    let handle = dispatcher.dispatch(action: held)
    let waits = Task { await onOwnThread { handle.wait(for: .seconds(Int64.max)) } }
    finish.open()
    #expect(await waits.value?.isSuccess == true)
  }

  @Test func aWaitForWhatTheBlockHoldsUpIsRefused() async {
    let codes = Recorder<DispatchError.Code?>()
    let dispatcher = dispatcher
    let outer = Script.runs { _ in
      let inner = dispatcher.dispatch(action: Script.adds("behind"), mode: .serial)
      codes.record(inner.wait().dispatchError?.code)
    }
    #expect(await dispatcher.dispatch(action: outer, mode: .serial).result.isSuccess)
    #expect(codes.all == [.wouldDeadlock])
  }

  @Test func aWaitInABlockGivesItsPlaceToWhatItWaitsFor() async {
    let dispatcher = dispatcher
    dispatcher.queue.maxConcurrentOperationCount = 1
    let outer = Script.runs { _ in
      dispatcher.dispatch(action: Script.adds("inner")).wait()
    }
    #expect(await dispatcher.dispatch(action: outer).result.isSuccess)
    #expect(stage.model == ["inner"])
  }

  @Test func waitingInAnExclusiveSectionStopsTheProgramAndNamesTheStore() async {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      let (dispatcher, stage) = makeStage()
      let finish = Latch()
      let handle = dispatcher.dispatch(action: Script.suspends { _ in await finish.opened() })
      stage.updateModel { _ in _ = handle.wait(for: .seconds(1)) }
    }
    #expect(result.message.contains("inside the exclusive section of store \"stage\""))
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func whenEndedCallsItsClosureOnceAndTheLaneIsFree(_ mode: Dispatcher.Mode) async {
    let (dispatcher, results) = (dispatcher, Recorder<Bool>())
    let handle = dispatcher.dispatch(action: Script.adds("1"), mode: mode)
    handle.whenEnded { result in
      // In its lane, which it no longer holds.
      let next = dispatcher.dispatch(action: Script.adds("2"), mode: mode == .sync ? .serial : mode)
      next.whenEnded { results.record(result.isSuccess && $0.isSuccess) }
    }
    #expect(await results.first(1) == [true])
    _ = await handle.result
    handle.whenEnded { results.record($0.isSuccess) }
    #expect(results.all == [true, true], "At once, where it has ended.")
  }
}
