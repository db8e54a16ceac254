import DispatchStore
import Foundation
import Testing

/// Hooks around stores whose operations end at once, or later on another thread.
@Suite("Middleware around operations", .timeLimit(.minutes(10)))
struct OperationMiddlewareTests {
  private let dispatcher = Dispatcher()
  private let steps = Recorder<String>()

  private func script(_ name: String, _ style: OperationStyle) -> Script {
    let steps = steps
    let work: @Sendable (Stage) -> Void = { stage in
      steps.record("\(name) in \(stage.identifier)")
      stage.updateModel { $0.append(name) }
    }
    return switch style {
    case .returning, .applying: .runs(name) { work($0) }
    case .callback:
      .controls(name) { operation, stage in
        DispatchQueue.global().async {
          work(stage)
          operation.finish()
        }
      }
    case .suspending:
      .suspends(name) { stage in
        await Task.yield()
        work(stage)
      }
    }
  }

  @Test(arguments: Dispatcher.Mode.everyMode, OperationStyle.operations)
  func aVerdictHoldsForItsStoreAloneWhereverItsOperationEnds(
    _ mode: Dispatcher.Mode, _ style: OperationStyle
  ) async {
    dispatcher.addStage("replaced")
    dispatcher.addStage("vetoed", waitFor: ["replaced"])
    dispatcher.addStage("waiting", waitFor: ["vetoed"])
    dispatcher.addStage("passed", waitFor: ["replaced"])
    let ran = Recorder<String>()
    let replacement = script("replacement", style)
    dispatcher.register(
      middleware: RecordingMiddleware(will: { _, _, store in
        switch store.identifier {
        case "replaced": .replace(with: replacement)
        case "vetoed": .veto(reason: "closed")
        default: .pass
        }
      }))
    dispatcher.register(
      middleware: RecordingMiddleware(did: { transaction, action, store in
        ran.record("\(store.identifier) \(action) \(transaction.outcome.isFinished)")
      }))
    for _ in 0..<2 {
      let result = await dispatcher.dispatch(action: script("script", style), mode: mode).result
      #expect(result["replaced"].isFinished == true)
      #expect(result["vetoed"].veto?.reason == "closed")
      #expect(result["waiting"].errorCode == .dependencyFailed)
      #expect(result["passed"].isFinished == true)
    }
    // The second middleware is not called for the vetoed store.
    let once = ["replaced replacement true", "waiting script false", "passed script true"]
    #expect(ran.all.sorted() == (once + once).sorted())
    #expect(
      steps.all.sorted()
        == (0..<2).flatMap { _ in ["replacement in replaced", "script in passed"] }.sorted())
  }

  @Test(arguments: Dispatcher.Mode.laneModes)
  func bothHooksRunForADispatchThatWasCancelledInItsLane(_ mode: Dispatcher.Mode) async {
    dispatcher.addStage("stage")
    let released = Latch()
    let holder = dispatcher.dispatch(
      action: Script.suspends { _ in await released.opened() }, mode: mode)
    let outcomes = Recorder<StoreOutcome?>()
    dispatcher.register(
      middleware: RecordingMiddleware(
        "m", to: steps, did: { transaction, _, _ in outcomes.record(transaction.outcome) }))
    let cancelled = dispatcher.dispatch(action: script("script", .returning), mode: mode)
    cancelled.cancel()
    #expect(await cancelled.result["stage"].isCancelled == true)
    #expect(steps.all == ["m will stage", "m did stage"])
    #expect(outcomes.all.first??.isCancelled == true)
    released.open()
    #expect(await holder.result.isSuccess)
  }
}
