import Testing

@testable import DispatchStore

@Suite("The progress of a round")
struct RoundStateTests {
  private static let timer = TimerToken(number: 5)

  /// A `.sync` caller that waited for the closing thread would delay threads that wait for its delivery turn.
  @Test func aDeferredCommitCountsAsSuchUntilItsStoreHasClosed() {
    var state = RoundState(stores: ["a"])
    _ = state.start(0)
    state.entries[0].commitDeferred()
    _ = state.entries[0].startReturned(.finished)
    #expect(state.onlyDeliveryIsLeft)
    guard case .close(.finished) = state.entries[0].commitDelivered() else {
      Issue.record("It is not to be closed.")
      return
    }
    #expect(state.onlyDeliveryIsLeft)
    let (next, isClosed, _) = state.closed(0)
    #expect(next.isEmpty && isClosed)
    #expect(!state.onlyDeliveryIsLeft)
  }

  @Test func aCommitOfATaskIsDeliveredBeforeItsOperationEnds() {
    var state = RoundState(stores: ["a"])
    _ = state.start(0)
    _ = state.entries[0].startReturned()
    for _ in 0..<2 {
      let begins = state.entries[0].beginTaskCommit(in: 1)
      #expect(begins)
    }
    _ = state.entries[0].operationEnded(.finished)
    let third = state.entries[0].beginTaskCommit(in: 1)
    #expect(!third, "It comes after the end.")
    #expect(!state.onlyDeliveryIsLeft, "A `.sync` caller stays.")
    guard case .wait = state.entries[0].endTaskCommit(),
      case .close(.finished) = state.entries[0].endTaskCommit()
    else {
      Issue.record("It is to be closed after the second one.")
      return
    }
  }

  @Test func aStoreStartsOnceAllThatItWaitsForHaveClosed() {
    var state = RoundState(stores: ["a", "b", "c"], prerequisites: [[], [], [0, 1]])
    #expect(state.first == [0, 1])
    for place in [1, 0] {
      _ = state.start(place)
      _ = state.entries[place].startReturned(.finished)
      #expect(state.closed(place).next == (place == 0 ? [2] : []))
    }
  }

  @Test func aNewOneWithoutStoresIsClosed() {
    #expect(RoundState(stores: []).isClosed)
  }

  // MARK: Attempts

  /// Its first attempt has failed.
  private func failed(pauses: Bool = true) -> RoundState {
    var state = RoundState(stores: ["a", "b"], prerequisites: [[], [0]])
    _ = state.start(0)
    _ = state.entries[0].startReturned(.failed(StageFright()))
    #expect(state.failedAttempt(0) == 1)
    let retried = state.retry(0, pauses: pauses)
    #expect(retried != nil)
    return state
  }

  @Test func aStoreThatRunsAgainIsUnderWayAndWhatWaitsForItWaits() {
    var state = failed()
    #expect(state.isAlone && !state.isClosed && state.first.isEmpty)
    let hasPassed = (state.pausePassed(0, before: 1), state.pausePassed(0, before: 2))
    #expect(!hasPassed.0, "It is the timer of another attempt.")
    #expect(hasPassed.1)
    guard state.beginAttempt(0) == 2, case .run = state.start(0) else {
      Issue.record("It is to be started.")
      return
    }
    #expect(state.isAlone)
    _ = state.entries[0].startReturned(.finished)
    #expect(state.failedAttempt(0) == nil)
    #expect(state.closed(0).next == [1])
    #expect(state.attemptCounts == [2, 1])
  }

  @Test func aCancellationEndsAPauseOnce() {
    var state = failed()
    let isKept = state.keep(Self.timer, at: 0, of: 2)
    #expect(isKept)
    let pauses = state.cancel().pauses
    #expect(pauses.map(\.index) == [0] && pauses.map(\.timer) == [Self.timer])
    let hasPassed = state.pausePassed(0, before: 2)
    #expect(!hasPassed)
    #expect(state.cancel().pauses.isEmpty)
    #expect(state.closed(0).next == [1])
    #expect(state.outcomes[0].wasCancelled(afterItsStart: true), "\(state.outcomes)")
  }

  @Test func aTimerThatComesAfterThePauseIsNotKept() {
    var state = failed()
    _ = state.pausePassed(0, before: 2)
    let isKept = state.keep(Self.timer, at: 0, of: 2)
    #expect(!isKept)
  }

  @Test func noAttemptBeginsAfterACancellation() {
    var state = failed(pauses: false)
    #expect(state.cancel().pauses.isEmpty)
    let attempt = state.beginAttempt(0)
    #expect(attempt == nil)
    #expect(state.closed(0).next == [1])
  }

  @Test func afterACancellationNoAttemptFollows() {
    var state = RoundState(stores: ["a"])
    _ = state.start(0)
    _ = state.entries[0].startReturned(.failed(StageFright()))
    _ = state.cancel()
    #expect(state.failedAttempt(0) == nil)
    let retried = state.retry(0, pauses: true)
    #expect(retried == nil)
    #expect(state.closed(0).isClosed)
    #expect(state.outcomes[0].isFailed)
  }

  @Test func aStoreThatWasNotStartedIsNotRetried() {
    var state = RoundState(stores: ["a"])
    _ = state.start(0, verdict: .failed(StageFright()))
    _ = state.entries[0].startReturned(.failed(StageFright()))
    #expect(state.failedAttempt(0) == nil)
  }

  @Test(arguments: [false, true])
  func aStoreThatIsGoneIsNotStarted(isRetried: Bool) {
    var state = isRetried ? failed(pauses: false) : RoundState(stores: ["a"])
    guard case .end(.cancelled(hasStarted: isRetried)) = state.start(0, isGone: true) else {
      Issue.record("It is to end as cancelled.")
      return
    }
    #expect(state.hasStarted == isRetried)
    #expect(state.attemptCounts == nil)
  }

  @Test func anAttemptThatWasCancelledBeforeItsOperationRanFollowsOneThatRan() {
    var state = failed(pauses: false)
    _ = (state.beginAttempt(0), state.start(0), state.cancel())
    _ = state.entries[0].startReturned(.cancelled(hasStarted: false))
    for _ in 0..<2 {
      #expect(state.outcomes[0].wasCancelled(afterItsStart: true), "\(state.outcomes)")
      _ = state.closed(0)
    }
  }

  @Test func whatAFormerAttemptReportsIsTooLate() {
    var state = failed(pauses: false)
    _ = (state.beginAttempt(0), state.start(0), state.entries[0].startReturned())
    let begins = (state.entries[0].beginTaskCommit(in: 1), state.entries[0].beginTaskCommit(in: 2))
    #expect(!begins.0 && begins.1)
    guard case .wait = state.entries[0].becameReady(in: 1),
      case .run = state.entries[0].becameReady(in: 2)
    else {
      Issue.record("The wrong one is ready.")
      return
    }
  }

  @Test func anAttemptWhoseCommitsWereDeferredIsUnderWayAfterThem() {
    var state = RoundState(stores: ["a"])
    _ = state.start(0)
    state.entries[0].commitDeferred()
    _ = state.entries[0].startReturned(.failed(StageFright()))
    #expect(state.onlyDeliveryIsLeft)
    _ = state.entries[0].commitDelivered()
    _ = state.retry(0, pauses: true)
    #expect(state.isAlone, "A `.sync` caller stays.")
    _ = state.pausePassed(0, before: 2)
    _ = state.start(0)
    _ = state.entries[0].startReturned(.finished)
    #expect(state.closed(0).isClosed)
    #expect(!state.onlyDeliveryIsLeft && !state.isAlone)
  }
}

extension RoundState {
  fileprivate init(
    stores: [String], prerequisites: [[Int]]? = nil, runsRegardless: [Bool]? = nil
  ) {
    let graph = StoreGraph(
      stores, prerequisites: prerequisites,
      runsRegardless: runsRegardless ?? stores.map { _ in false })
    self.init(graph)
  }
}
