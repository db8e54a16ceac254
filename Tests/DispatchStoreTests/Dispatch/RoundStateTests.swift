import Testing

@testable import DispatchStore

@Suite("The progress of a round")
struct RoundStateTests {
  /// A caller who waits for the thread that closes would hold up those who wait for its turn to tell.
  @Test func whatWasLeftToOthersToTellCountsAsSuchUntilItHasClosed() {
    var state = RoundState(stores: ["a"])
    _ = state.start(0)
    state.commitDeferred(0)
    _ = state.startReturned(0, .finished)
    #expect(state.onlyTellingIsLeft)
    guard case .close(.finished) = state.commitDelivered(0) else {
      Issue.record("It is not to be closed.")
      return
    }
    #expect(state.onlyTellingIsLeft)
    let (next, isClosed, _) = state.closed(0)
    #expect(next.isEmpty && isClosed)
    #expect(!state.onlyTellingIsLeft)
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
