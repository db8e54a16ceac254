import Testing

@testable import DispatchStore

@Suite("OperationState")
struct OperationStateTests {
  var state = OperationState()

  @Test mutating func startsOnce() {
    #expect(state.saidToStart() == "run")
    #expect(state.isRunning)
    #expect(state.saidToStart() == "ignore")
  }

  @Test mutating func endsWhenTheBlockThatFinishedItReturns() {
    _ = state.start()
    #expect(state.saidToFinish(.finished) == "later")
    #expect(state.outcome == nil)
    #expect(state.isRunning)
    #expect(state.returned()?.description == "finished")
    #expect(state.outcome?.description == "finished")
    #expect(!state.isRunning)
  }

  @Test mutating func endsAtOnceWhenFinishedAfterItsBlock() {
    _ = state.start()
    #expect(state.returned()?.description == nil)
    #expect(state.saidToFinish(.cancelled(hasStarted: true)) == "end cancelled")
    #expect(state.outcome?.description == "cancelled")
  }

  @Test mutating func theFirstFinishCounts() {
    _ = state.start()
    _ = state.finish(.cancelled(hasStarted: true))
    #expect(state.saidToFinish(.finished) == "repeated")
    #expect(state.returned()?.description == "cancelled")
    #expect(state.saidToFinish(.finished) == "repeated")
    #expect(state.outcome?.description == "cancelled")
  }

  @Test mutating func aFinishBeforeTheStartTakesEffectAtTheStart() {
    #expect(state.saidToFinish(.finished) == "later")
    #expect(state.outcome == nil)
    #expect(state.isPending)
    #expect(state.saidToFinish(.cancelled(hasStarted: true)) == "repeated")
    #expect(state.saidToStart() == "end finished")
    #expect(!state.isPending)
    #expect(state.outcome?.description == "finished")
  }

  @Test mutating func cancelledBeforeTheStartItEndsWithoutRunning() {
    #expect(state.cancel() == true)
    #expect(state.outcome == nil)
    #expect(state.saidToStart() == "end cancelled")
  }

  @Test mutating func cancelledAndThenFinishedBeforeTheStartItIsCancelled() {
    #expect(state.cancel() == true)
    #expect(state.saidToFinish(.finished) == "later")
    #expect(state.saidToStart() == "end cancelled")
  }

  @Test mutating func finishedAndThenCancelledBeforeTheStartItIsFinished() {
    #expect(state.saidToFinish(.finished) == "later")
    #expect(state.cancel() == true)
    #expect(state.saidToStart() == "end finished")
  }

  @Test mutating func cancelledAfterTheStartItEndsAsItsBlockSays() {
    _ = state.start()
    #expect(state.cancel() == true)
    #expect(state.isCancelled)
    #expect(state.isRunning)
    _ = state.finish(.finished)
    #expect(state.returned()?.description == "finished")
  }

  @Test mutating func cancellingTakesEffectOnceAndNeverAfterTheEnd() {
    #expect(state.cancel() == true)
    #expect(state.cancel() == false)
    var ended = OperationState()
    _ = ended.start()
    _ = ended.finish(.finished)
    _ = ended.returned()
    #expect(ended.cancel() == false)
    #expect(!ended.isCancelled)
  }

  @Test mutating func anUpdateUnderWayDelaysTheEnd() {
    _ = state.start()
    #expect(state.beginUpdate() == true)
    #expect(state.returned()?.description == nil)
    #expect(state.saidToFinish(.finished) == "later")
    #expect(state.beginUpdate() == true)
    #expect(state.returned()?.description == nil)
    #expect(state.returned()?.description == "finished")
    #expect(state.beginUpdate() == false)
  }

  @Test mutating func isTakenOnceAndNotAfterItsStart() {
    #expect(state.claim() == true)
    #expect(state.claim() == false)
    var started = OperationState()
    _ = started.start()
    #expect(started.claim() == false)
  }
}

extension OperationState {
  fileprivate mutating func saidToStart() -> String {
    switch start() {
    case .run: "run"
    case .end(let outcome): "end \(outcome)"
    case .ignore: "ignore"
    }
  }

  fileprivate mutating func saidToFinish(_ outcome: StoreOutcome) -> String {
    switch finish(outcome) {
    case .end(let outcome): "end \(outcome)"
    case .later: "later"
    case .repeated: "repeated"
    }
  }
}
