import Testing

@testable import DispatchStore

@Suite("Lane turns", .timeLimit(.minutes(10)))
struct LaneTurnsTests {
  @Test func areFirstOnceEachPlaceHasComeUp() {
    var turns = LaneTurns(laneCount: 3)
    #expect(!turns.areFirst && turns.waiting == [1, 2])
    // The same place twice, too.
    let early = [turns.cameUp(in: 2), turns.cameUp(in: 2)]
    #expect(early == [false, false] && !turns.areFirst && turns.waiting == [1])
    let last = turns.cameUp(in: 1)
    #expect(last && turns.areFirst && turns.waiting.isEmpty)
  }

  @Test func areLeftOnce() {
    var turns = LaneTurns(laneCount: 2)
    let left = [turns.leave(), turns.leave()]
    #expect(left == [true, false])
    // The place comes up all the same.
    let isReady = turns.cameUp(in: 1)
    #expect(!isReady && !turns.areFirst)
  }

  @Test func areFirstIfATaskHasAcquiredAllLanes() {
    var turns = LaneTurns(laneCount: 2)
    turns.acquire()
    #expect(turns.areFirst && turns.waiting.isEmpty)
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

  @Test func keysCountOnceAndInAnyOrder() {
    let mode = Dispatcher.Mode.serial(lanes: ["a", 2])
    #expect(
      mode == .serial(lanes: [2, "a", 2])
        && mode.hashValue == Dispatcher.Mode.serial(lanes: [2, "a"]).hashValue)
    #expect(mode != .serial(lanes: ["a", 2.0]) && mode != .serial(lanes: ["a", 2, 3]))
    #expect(mode.description == "serial(lanes: a, 2)")
    for keys in [["a"], ["a", "a"]] {
      #expect(Dispatcher.Mode.serial(lanes: keys) == .serial(lane: "a"))
    }
  }

  @Test func aModeWithoutLanesStopsTheProgram() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = Dispatcher.Mode.serial(lanes: [])
    }
    let message = result.map { String(decoding: $0.standardErrorContent, as: UTF8.self) } ?? ""
    #expect(
      message.contains("A mode was made without lanes (DispatchStoreTests/LaneTurnsTests.swift:"))
  }

  @Test func aModeOfMoreLanesThanAStackHoldsStopsTheProgram() async {
    let (keys, repeated) = (Array(0..<256), (0..<1_000).map { $0 % 256 })
    #expect(Dispatcher.Mode.serial(lanes: repeated) == .serial(lanes: keys))
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let keys = Array(0..<257)
      _ = Dispatcher.Mode.serial(lanes: keys)
    }
    let message = result.map { String(decoding: $0.standardErrorContent, as: UTF8.self) } ?? ""
    #expect(
      message.contains("A mode was made with 257 lanes (DispatchStoreTests/LaneTurnsTests.swift:"))
  }
}
