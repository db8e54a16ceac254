import Testing

@testable import DispatchStore

@Suite("The progress of a round")
struct RoundStateTests {
  /// A `.sync` caller that waited for the closing thread would delay threads that wait for its delivery turn.
  @Test func aDeferredCommitCountsAsSuchUntilItsStoreHasClosed() {
    var state = RoundState(stores: ["a"])
    _ = state.start(0)
    state.commitDeferred(0)
    _ = state.startReturned(0, .finished)
    #expect(state.onlyDeliveryIsLeft)
    guard case .close(.finished) = state.commitDelivered(0) else {
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
    _ = state.startReturned(0)
    let (first, second) = (state.beginTaskCommit(0), state.beginTaskCommit(0))
    #expect(first && second)
    _ = state.operationEnded(0, .finished)
    let third = state.beginTaskCommit(0)
    #expect(!third, "It comes after the end.")
    #expect(!state.onlyDeliveryIsLeft, "A `.sync` caller stays.")
    guard case .wait = state.endTaskCommit(0), case .close(.finished) = state.endTaskCommit(0)
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
      _ = state.startReturned(place, .finished)
      #expect(state.closed(place).next == (place == 0 ? [2] : []))
    }
  }

  @Test func aNewOneWithoutStoresIsClosed() {
    #expect(RoundState(stores: [String]()).isClosed)
  }
}
