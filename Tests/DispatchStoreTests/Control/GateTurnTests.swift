import Testing

@testable import DispatchStore

@Suite("A dispatch's way through its gate")
struct GateTurnTests {
  private final class AnyGate: StartGate, @unchecked Sendable {}  // because it has no state

  private func reach(_ state: inout DispatchState) -> Bool {
    if case .tryGate = state.start() { true } else { false }
  }

  @Test func itIsTriedInItsTurnAndRunsOnceItIsOpen() {
    var state = DispatchState(isRunning: false)
    state.wait(at: AnyGate())
    #expect(state.gate != nil && state.gateAtTurn == nil)
    let isTried = reach(&state)
    #expect(isTried && state.gateAtTurn != nil)
    guard case .run = state.tried(true) else { return #expect(Bool(false)) }
    #expect(!state.isWaiting && state.gate == nil)
  }

  @Test func whatMayOpenAClosedGateStartsTheDispatchOnceMore() {
    var state = DispatchState(isRunning: false)
    state.wait(at: AnyGate())
    // It has not come there: its scheduler will start it.
    var isStarted = state.gateMayOpen()
    #expect(!isStarted)
    _ = reach(&state)
    guard case .park = state.tried(false) else { return #expect(Bool(false)) }
    isStarted = state.gateMayOpen()
    #expect(isStarted)
    // Its scheduler is about to.
    isStarted = state.gateMayOpen()
    #expect(!isStarted)
    let isTried = reach(&state)
    #expect(isTried)
  }

  @Test func whatMayOpenItWhileAThreadTriesItMakesThatTryAgain() {
    var state = DispatchState(isRunning: false)
    state.wait(at: AnyGate())
    _ = reach(&state)
    let isStarted = state.gateMayOpen()
    #expect(!isStarted)
    guard case .tryGate = state.tried(false), case .park = state.tried(false) else {
      return #expect(Bool(false))
    }
  }

  @Test func oneThatIsCancelledMeanwhileEndsElsewhere() {
    var state = DispatchState(isRunning: false)
    state.wait(at: AnyGate())
    _ = reach(&state)
    guard case .end(wasParked: true, wasDelayed: false) = state.cancel(),
      case .skip = state.tried(true)
    else {
      return #expect(Bool(false))
    }
    let isStarted = state.gateMayOpen()
    #expect(!isStarted)
  }

  @Test func itComesAfterTheDispatchesBefore() {
    var state = DispatchState(isRunning: false)
    state.wait(for: [Dispatch(), Dispatch()])
    state.wait(at: AnyGate())
    var isTried = reach(&state)
    #expect(!isTried && state.gateAtTurn == nil)
    let ends = [state.oneBeforeEnded(), state.oneBeforeEnded()]
    #expect(ends == [false, true])
    isTried = reach(&state)
    #expect(isTried)
  }
}
