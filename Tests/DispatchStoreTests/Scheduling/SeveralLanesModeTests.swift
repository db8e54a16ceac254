import Testing

@testable import DispatchStore

@Suite("Modes of several lanes", .timeLimit(.minutes(10)))
struct SeveralLanesModeTests {
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
    #expect(
      result.message.contains(
        "A mode was made without lanes (DispatchStoreTests/SeveralLanesModeTests.swift:"))
  }

  @Test func aModeOfMoreLanesThanAStackHoldsStopsTheProgram() async {
    let (keys, repeated) = (Array(0..<256), (0..<1_000).map { $0 % 256 })
    #expect(Dispatcher.Mode.serial(lanes: repeated) == .serial(lanes: keys))
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let keys = Array(0..<257)
      _ = Dispatcher.Mode.serial(lanes: keys)
    }
    #expect(
      result.message.contains(
        "A mode was made with 257 lanes (DispatchStoreTests/SeveralLanesModeTests.swift:"))
  }
}
