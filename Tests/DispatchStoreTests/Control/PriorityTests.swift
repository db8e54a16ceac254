import Foundation
import Testing

@testable import DispatchStore

@Suite("Priorities", .timeLimit(.minutes(10)))
struct PriorityTests {
  let dispatcher = Dispatcher()
  let log = Recorder<String>()

  init() {
    dispatcher.addStage()
    dispatcher.queue.maxConcurrentOperationCount = 1
    dispatcher.queue.isSuspended = true
  }

  private func dispatch(
    _ name: String, _ options: DispatchOptions = DispatchOptions(),
    _ mode: Dispatcher.Mode = .async
  ) -> DispatchHandle {
    dispatcher.dispatch(
      action: Script.runs { [log] _ in log.record(name) }, mode: mode, options: options)
  }

  @Test func theHighestGoFirst() async {
    let priorities: [(String, Operation.QueuePriority)] = [
      ("veryLow", .veryLow), ("low", .low), ("high", .high), ("veryHigh", .veryHigh),
    ]
    let handles = priorities.map { dispatch($0, .priority($1)) } + [dispatch("normal")]
    let again = priorities.map { dispatch($0, .priority($1)) }
    dispatcher.queue.isSuspended = false
    for handle in handles + again { #expect(await handle.result.isSuccess) }
    let order = ["veryHigh", "veryHigh", "high", "high", "normal"]
    #expect(log.all == order + ["low", "low", "veryLow", "veryLow"])
  }

  @Test func noneStarves() async {
    let low = dispatch("low", .priority(.low))
    let normal = dispatch("normal")
    let high = (0..<100).map { _ in dispatch("high", .priority(.high)) }
    dispatcher.queue.isSuspended = false
    for handle in high + [low, normal] { await handle.ended() }
    for name in ["low", "normal"] {
      #expect(log.all.firstIndex(of: name)! <= PriorityInbox.patience + 1, "\(log.all.prefix(20))")
    }
  }

  @Test func oneThatIsCancelledIsPassedOver() async {
    let cancelled = (0..<200).map { _ in dispatch("cancelled", .priority(.high)) }
    let kept = dispatch("kept", [.priority(.low), .named("kept")])
    for handle in cancelled { handle.cancel() }
    for handle in cancelled { #expect(await handle.result["stage"].isCancelled == true) }
    dispatcher.queue.isSuspended = false
    #expect(await kept.result.isSuccess)
    #expect(log.all == ["kept"])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func changesNothingElse(_ mode: Dispatcher.Mode) async {
    dispatcher.queue.isSuspended = false
    let handle = await onOwnThread { dispatch("ran", .priority(.veryHigh), mode) }
    #expect(await handle.result.isSuccess)
    if mode != .sync {
      let script = Script.runs { [log] _ in log.record("ran") }
      #expect(await dispatcher.send(script, mode: mode, options: .priority(.low)).isSuccess)
    }
    #expect(log.count == (mode == .sync ? 1 : 2))
  }

  @Test func aLevelGoesAtTheLatestAfterSixteenOthers() {
    var (inbox, normalGaps, gap) = (PriorityInbox(), [Int](), 0)
    for _ in 0..<100 {
      let dispatch = Dispatch()
      dispatch.makeDetails().priority = .veryHigh
      inbox.expect()
      inbox.append(dispatch, keepsPlace: false)
    }
    while normalGaps.count < 5 {
      if inbox.popFirst(isNormalWaiting: true) != nil {
        gap += 1
      } else {
        normalGaps.append(gap)
        gap = 0
      }
    }
    #expect(normalGaps == [16, 16, 16, 16, 16])
  }
}
