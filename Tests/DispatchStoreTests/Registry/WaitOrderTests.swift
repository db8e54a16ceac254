import Testing

@testable import DispatchStore

struct WaitOrderTests {
  private func order(
    _ participants: [(String, WaitFor)], former: Set<String> = []
  ) throws(DispatchError) -> WaitOrder {
    let identifiers = Set(participants.map(\.0)).union(former)
    return try WaitOrder(
      participants.map(\.0), participants.map(\.1),
      unknown: Set(participants.flatMap(\.1.storeIdentifiers)).subtracting(identifiers))
  }

  @Test func tiesGoByOrderOfRegistration() throws {
    #expect(try order([("c", []), ("a", []), ("b", [])]).order == [0, 1, 2])
    #expect(try order([("a", ["d"]), ("b", []), ("c", []), ("d", [])]).order == [1, 2, 3, 0])
  }

  @Test func aStoreThatBecomesReadyGoesBeforeLaterOnes() throws {
    // Once 1 has been placed, 0 is ready, and comes before 2 and 3.
    let order = try order([("a", ["b"]), ("b", []), ("c", []), ("d", ["a"])])
    #expect(order.order == [1, 0, 2, 3])
    #expect(order.prerequisites == [[1], [], [], [0]])
  }

  @Test func namingAStoreTwiceWaitsForItOnce() throws {
    #expect(try order([("a", []), ("b", ["a", "a"])]).prerequisites == [[], [0]])
  }

  /// In a debug build, quadratic time would be many minutes.
  @Test func aStoreMayWaitForHundredThousands() throws {
    let names = (0..<200_000).map { "\($0)" }
    let last = ("last", WaitFor(names + names))
    let order = try order([last] + names.map { ($0, WaitFor([])) })
    #expect(order.order == Array(1...names.count) + [0])
    #expect(order.prerequisites[0].count == names.count)
  }

  /// The same.
  @Test func hundredThousandsMayWaitForEachOtherInACycle() {
    let names = (0..<200_000).map { "\($0)" }
    let error = #expect(throws: DispatchError.self) {
      try order(names.indices.map { (names[$0], [names[($0 + 1) % names.count]]) })
    }
    #expect(error?.code == .waitForCycle)
    #expect(error?.storeIdentifiers == names + ["0"])
  }

  @Test func noParticipantsHaveAnEmptyOrder() throws {
    #expect(try order([]).order.isEmpty)
  }

  @Test func thoseThatAreGoneDoNotTakePart() throws {
    let order = try order([("a", ["gone"]), ("b", ["a", "gone"])], former: ["gone"])
    #expect(order.order == [0, 1])
    #expect(order.prerequisites == [[], [0]])
  }

  @Test(
    arguments: [
      ([("a", ["a"])], ["a", "a"]),
      ([("a", ["b"]), ("b", ["a"])], ["a", "b", "a"]),
      ([("a", ["b"]), ("b", ["c"]), ("c", ["d"]), ("d", ["a"])], ["a", "b", "c", "d", "a"]),
      // A store that leads into the cycle is not part of the path.
      ([("lead", ["x"]), ("x", ["y"]), ("y", ["x"])], ["x", "y", "x"]),
      // Nor is one that comes before the cycle.
      ([("free", []), ("x", ["free", "y"]), ("y", ["free", "x"])], ["x", "y", "x"]),
    ] as [([(String, WaitFor)], [String])])
  func aCycleIsNamedWithItsWholePath(participants: [(String, WaitFor)], path: [String]) throws {
    let error = #expect(throws: DispatchError.self) { try order(participants) }
    #expect(error?.code == .waitForCycle)
    #expect(error?.storeIdentifiers == path)
    let cycle = path.map { "\"\($0)\"" }.joined(separator: " → ")
    #expect(error?.message.contains(cycle) == true)
  }

  @Test func anUnknownIdentifierIsNamedWithItsWaiter() throws {
    let error = #expect(throws: DispatchError.self) { try order([("a", []), ("b", ["a", "x"])]) }
    #expect(error?.code == .unknownStore)
    #expect(error?.storeIdentifiers == ["b", "x"])
    #expect(error?.message.contains("\"b\" → \"x\"") == true)
  }

  @Test(arguments: 0..<50)
  func everyStoreComesAfterThoseItWaitsFor(seed: UInt64) throws {
    var state = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    func next(_ bound: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int((state >> 33) % UInt64(bound))
    }
    // Waits only go from higher to lower ranks, so that there is no cycle.
    let ranks = (0..<30).map { ($0 * 7) % 30 }
    let participants = ranks.map { rank in
      let waits = (0..<next(4)).compactMap { _ in rank == 0 ? nil : "\(next(rank))" }
      return ("\(rank)", WaitFor(waits))
    }
    let order = try order(participants)
    #expect(order.order.sorted() == Array(0..<30))
    var placed: Set<Int> = []
    for place in order.order {
      #expect(placed.isSuperset(of: order.prerequisites[place]))
      // It is the first in order of registration of those that are ready.
      let ready = (0..<30).filter {
        !placed.contains($0) && placed.isSuperset(of: order.prerequisites[$0])
      }
      #expect(ready.first == place)
      placed.insert(place)
    }
  }

  @Test func aLongChainIsOrderedInReasonableTime() throws {
    let count = 20_000
    let participants = (0..<count).map { ("\($0)", WaitFor($0 + 1 < count ? ["\($0 + 1)"] : [])) }
    #expect(try order(participants).order == (0..<count).reversed())
  }
}
