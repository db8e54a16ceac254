import Testing

@testable import DispatchStore

@Suite("Lane state: a search for a cycle", .timeLimit(.minutes(10)))
struct LaneStateSearchTests {
  private func push(_ dispatch: Dispatch, to state: inout LaneState) {
    state.noteHeldBack(dispatch)
    dispatch.makeDetails().withState { $0.wait(at: ClosedGate()) }
    dispatch.next = nil
    state.takeIn(Unmanaged.passRetained(dispatch))
  }

  /// The search saw it wait, and came to the lane when it had begun, or had ended.
  @Test func whatHasLeftTheInboxWaitsForNothingThere() {
    var state = LaneState()
    let (first, second, third) = (Dispatch(), Dispatch(), Dispatch())
    for dispatch in [first, second, third] { push(dispatch, to: &state) }
    #expect(state.takeStart() === first)
    let ofThird = state.exactPrecedence(of: third, top: nil)
    #expect(ofThird.holder === first && ofThird.gated.elementsEqual([second], by: ===))
    let ofFirst = state.exactPrecedence(of: first, top: nil)
    #expect(ofFirst.holder == nil && ofFirst.gated.isEmpty)
    first.makeDetails().beginEnding()
    state.holderEnded()
    #expect(state.takeStart() === second)
    second.makeDetails().beginEnding()
    state.holderEnded()
    for gone in [first, second] {
      let precedence = state.exactPrecedence(of: gone, top: nil)
      #expect(precedence.holder == nil && precedence.gated.isEmpty)
    }
    let hasTask = state.hasTask(before: first, top: nil)
    #expect(!hasTask)
  }
}

/// A gate that lets nothing pass.
private final class ClosedGate: StartGate, @unchecked Sendable {
  // because it has no state
  override func letsPass(_ dispatch: Dispatch) -> Bool { false }
}

@Suite("Lane state: priorities", .timeLimit(.minutes(10)))
struct LaneStateTests {
  let dispatcher = Dispatcher()

  private func make(_ level: PriorityInbox.Level? = nil, isTask: Bool = false) -> Dispatch {
    let dispatch = Dispatch()
    if level != nil || isTask { dispatch.makeDetails().priority = level }
    if isTask {
      dispatch.makeDetails().scheduler = TaskScheduler(at: dispatcher.pool, of: dispatcher)
    }
    return dispatch
  }

  private func push(_ dispatches: [Dispatch], to state: inout LaneState) {
    var top: Unmanaged<Dispatch>?
    for dispatch in dispatches {
      if dispatch.details?.priority != nil { state.expectPriority() }
      dispatch.next = top
      top = Unmanaged.passRetained(dispatch)
    }
    state.takeIn(top)
  }

  private func takeAll(_ state: inout LaneState) -> [Dispatch] {
    var all: [Dispatch] = []
    while state.rest == .start {
      all.append(state.takeStart())
      state.holderEnded()
    }
    return all
  }

  private func areSame(_ some: [Dispatch], _ others: [Dispatch]) -> Bool {
    some.elementsEqual(others, by: ===)
  }

  @Test func whatWasTakenInBeforeKeepsItsOrder() {
    var state = LaneState()
    let normal = (0..<3).map { _ in make() }
    let (low, high) = (make(.low), make(.high))
    push(normal, to: &state)
    #expect(!state.hasPriorities)
    push([low, high], to: &state)
    #expect(state.hasPriorities && state.order(top: nil).waiting.count == 5 && state.hasInbox)
    #expect(areSame(takeAll(&state), [high] + normal + [low]))
    #expect(!state.hasPriorities && !state.hasInbox && state.rest == .empty)
  }

  /// One is noted, and has not been pushed: until then the lane takes in by priority.
  @Test func isPlainOnceNothingIsExpected() {
    var state = LaneState()
    state.expectPriority()
    #expect(state.hasPriorities && state.rest == .empty)
    let normal = make()
    push([normal], to: &state)
    #expect(areSame(takeAll(&state), [normal]) && state.hasPriorities)
    let high = make(.high)
    high.next = nil
    state.takeIn(Unmanaged.passRetained(high))
    #expect(areSame(takeAll(&state), [high]) && !state.hasPriorities)
  }

  @Test func showsWhatWasPushedInTheOrderOfItsTurn() {
    var state = LaneState()
    let (low, normal, high) = (make(.low), make(), make(.high))
    push([low, normal], to: &state)
    state.expectPriority()
    high.next = nil
    let order = state.order(top: Unmanaged.passUnretained(high)).waiting
    #expect(areSame(order, [high, normal, low]))
    #expect(areSame(takeAll(&state), [normal, low]))
  }

  @Test func startsATaskWhereThatIsNext() {
    var state = LaneState()
    let (action, task) = (make(), make(.high, isTask: true))
    push([action, task], to: &state)
    #expect(state.startsTask && state.takeStart() === task)
    state.holderEnded()
    #expect(!state.startsTask && state.takeStart() === action)
  }

  /// A thread of those for tasks waits for it.
  @Test func noTaskThatComesLaterOvertakesWhatABlockedTaskThreadWaitsFor() {
    var state = LaneState()
    let (low, action, task) = (make(.low), make(.high), make(.veryHigh, isTask: true))
    push([low], to: &state)
    let hasTask = state.hasTask(before: low, top: nil)
    #expect(!hasTask)
    push([task, action], to: &state)
    #expect(areSame(takeAll(&state), [low, task, action]))
  }

  @Test func aTaskThatCameBehindItMayOvertakeIt() {
    var state = LaneState()
    let (low, task) = (make(.low), make(.high, isTask: true))
    push([low, task], to: &state)
    let hasTask = state.hasTask(before: low, top: nil)
    #expect(hasTask)
    var plain = LaneState()
    let (normal, other) = (make(), make(isTask: true))
    push([normal, other], to: &plain)
    let hasTaskInPlain = plain.hasTask(before: normal, top: nil)
    #expect(!hasTaskInPlain)
    _ = (takeAll(&state), takeAll(&plain))
  }

  @Test func aClosedWordTakesNothingAndIsWhatItWasAfterwards() {
    let dispatch = Unmanaged.passRetained(Dispatch())
    defer { dispatch.release() }
    for activity in [LaneWord.Activity.idle, .held, .drained, .acquired] {
      for top in [nil, dispatch] {
        let closed = LaneWord(top, activity).closed
        #expect(closed == LaneWord(top, .closed))
        #expect(closed?.pushing(dispatch) == nil)
        #expect(closed?.acquiredByTask == nil && closed?.heldByTask == nil)
        #expect(closed?.releasedByTask(as: .idle) == nil && closed?.requestingDrainer == nil)
        #expect(closed?.takenInByOther == nil)
      }
    }
    #expect(LaneWord(nil, .retired).closed == nil)
  }
}
