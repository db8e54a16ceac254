import DispatchStore
import Foundation
import Testing

/// How an operation ends, inside a dispatcher.
@Suite("How a dispatched operation ends", .timeLimit(.minutes(10)))
struct OutcomeTests {
  var (dispatcher, stage) = makeStage()
  let warnings: Recorder<DispatchWarning.Kind>

  init() {
    warnings = dispatcher.recordWarnings()
  }

  /// Dispatches on a new thread, since `.sync` may block it; then checks that the mode runs another action.
  private func outcome(_ script: Script, _ mode: Dispatcher.Mode) async -> StoreOutcome? {
    let handle = await onOwnThread { [dispatcher] in dispatcher.dispatch(action: script, mode: mode)
    }
    let result = await handle.result
    #expect(await dispatcher.dispatch(action: Script.adds("next"), mode: mode).result.isSuccess)
    return result["stage"]
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func anErrorThatTheBlockThrowsIsItsOutcome(_ mode: Dispatcher.Mode) async {
    let blocks: [Script] = [
      .runs { _ in throw StageFright(place: 1) }, .controls { _, _ in throw StageFright(place: 1) },
      .suspends { _ in
        await Task.yield()
        throw StageFright(place: 1)
      },
    ]
    for block in blocks {
      let outcome = await outcome(block, mode)
      #expect(outcome?.error as? StageFright == StageFright(place: 1))
    }
    #expect(warnings.all.isEmpty)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func aThrownCancellationErrorMeansCancelled(_ mode: Dispatcher.Mode) async {
    let blocks: [Script] = [
      .runs { _ in throw CancellationError() }, .controls { _, _ in throw CancellationError() },
      .suspends { _ in throw CancellationError() },
      .controls { operation, _ in operation.finish(throwing: CancellationError()) },
    ]
    for block in blocks {
      #expect(await outcome(block, mode)?.isCancelled == true)
    }
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func finishedInsideItsBlockItEndsWhenTheBlockReturns(_ mode: Dispatcher.Mode) async {
    let script = Script.controls { operation, store in
      operation.finish()
      #expect(operation.operation.outcome == nil)
      let updated: Void? = operation.updateModel { $0.append("after the finish") }
      #expect(updated != nil)
    }
    #expect(await outcome(script, mode)?.isFinished == true)
    #expect(stage.model == ["after the finish", "next"])
    #expect(warnings.all.isEmpty)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func finishedFromACallbackItEndsThen(_ mode: Dispatcher.Mode) async {
    let script = Script.controls { operation, _ in
      DispatchQueue.global().async {
        operation.updateModel { $0.append("called back") }
        operation.finish(throwing: StageFright())
      }
    }
    #expect(await outcome(script, mode)?.error is StageFright)
    #expect(stage.model == ["called back", "next"])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func aSecondFinishIsHarmlessAndReported(_ mode: Dispatcher.Mode) async {
    let script = Script.controls { operation, _ in
      operation.finish()
      operation.finish(throwing: StageFright())
    }
    #expect(await outcome(script, mode)?.isFinished == true)
    #expect(warnings.all == [.finishedTwice])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func warningsNameWhereTheActionWasDispatched(_ mode: Dispatcher.Mode) async {
    let messages = Recorder<String>()
    dispatcher.onWarning { messages.record($0.message) }
    let kept = Recorder<Script.Running>()
    let scripts: [Script] = [
      .controls { operation, _ in
        operation.finish()
        operation.finish()
      },
      .controls { _, _ in },
      .controls { operation, _ in
        kept.record(operation)
        operation.finish()
      },
    ]
    for script in scripts { _ = await outcome(script, mode) }
    kept.all[0].finish()
    kept.all[0].updateModel { $0 = [] }
    #expect(messages.count == 4)
    for message in messages.all {
      #expect(message.contains("(DispatchStoreTests/OutcomeTests.swift:"))
    }
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func anErrorThrownAfterTheFinishIsReportedAndTheFinishCounts(_ mode: Dispatcher.Mode) async {
    let script = Script.controls { operation, _ in
      operation.finish()
      throw StageFright()
    }
    #expect(await outcome(script, mode)?.isFinished == true)
    #expect(warnings.all == [.finishedTwice])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func finishedBeforeItsStartItNeverRuns(_ mode: Dispatcher.Mode) async {
    let script = Script.answers { action, store in
      let operation = Script.Operation(action: action, store: store) { _, store in
        store.updateModel { $0.append("ran") }
      }
      operation.finish()
      return operation
    }
    #expect(await outcome(script, mode)?.isFinished == true)
    #expect(stage.model == ["next"])
  }

  /// Whether it does no more, or finishes it as well.
  @Test(arguments: Dispatcher.Mode.everyMode, [nil, false, true] as [Bool?])
  func cancelledByItsReducerItNeverRuns(_ mode: Dispatcher.Mode, fails: Bool?) async {
    let script = Script.answers { action, store in
      let operation = Script.Operation(action: action, store: store) { _, store in
        store.updateModel { $0.append("ran") }
      }
      operation.cancel()
      if fails == true { operation.finish(throwing: StageFright()) }
      if fails == false { operation.finish() }
      return operation
    }
    #expect(await outcome(script, mode)?.isCancelled == true)
    #expect(stage.model == ["next"])
    #expect(warnings.all.isEmpty)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func droppedWithoutFinishItFailsAndItsLaneContinues(_ mode: Dispatcher.Mode) async {
    let blocks: [Script] = [
      .controls { _, _ in },
      .controls { operation, _ in
        DispatchQueue.global().async { withExtendedLifetime(operation) {} }
      },
    ]
    for block in blocks {
      #expect(await outcome(block, mode)?.errorCode == .operationAbandoned)
    }
    #expect(warnings.all == [.abandoned, .abandoned])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func anUpdateAfterItsEndIsIgnoredAndReported(_ mode: Dispatcher.Mode) async {
    let kept = Recorder<Script.Running>()
    let script = Script.controls { operation, _ in
      kept.record(operation)
      operation.finish()
    }
    #expect(await outcome(script, mode)?.isFinished == true)
    let updated: Void? = kept.all[0].updateModel { $0.append("late") }
    #expect(updated == nil)
    #expect(stage.model == ["next"])
    #expect(warnings.all == [.updateAfterEnd])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func allItsCommitsComeBeforeItsEndAlsoThoseUnderWay(_ mode: Dispatcher.Mode) async {
    let log = Recorder<String>()
    let token = stage.observe(.model) { log.record($0.value.last ?? "") }
    let middleware = RecordingMiddleware("m", to: log)
    dispatcher.register(middleware: middleware)
    let script = Script.controls { operation, _ in
      let updating = Latch()
      Thread {
        operation.updateModel {
          updating.open()
          $0.append("under way")
        }
      }.start()
      updating.wait()
      operation.finish()
    }
    let handle = await onOwnThread { [dispatcher] in dispatcher.dispatch(action: script, mode: mode)
    }
    #expect(await handle.result.isSuccess)
    #expect(log.all == ["m will stage", "under way", "m did stage"])
    token.cancel()
  }
}
