import Testing

@testable import DispatchStore

@Suite("Pauses between attempts")
struct RetryBackoffTests {
  private func pauses(
    _ backoff: RetryBackoff, _ count: Int = 5, transaction: UInt64 = 7, isSimulated: Bool = false
  ) -> [Int64] {
    (1...count).map { attempt in
      backoff.pause(after: attempt, seed: isSimulated ? transaction &* 1_048_576 : nil)
    }
  }

  private static let longest = RetryBackoff.exponential(
    from: .nanoseconds(1_000_000), upTo: .milliseconds(6))

  @Test func areTheSameOrGrowUpToTheLongest() {
    #expect(pauses(.none) == [0, 0, 0, 0, 0])
    #expect(pauses(.constant(.nanoseconds(3)), 2) == [3, 3])
    #expect(pauses(Self.longest) == [1_000_000, 2_000_000, 4_000_000, 6_000_000, 6_000_000])
    let tripled = RetryBackoff.exponential(from: .nanoseconds(1), factor: 3)
    #expect(pauses(tripled, 4) == [1, 3, 9, 27])
  }

  @Test func extremesStayWithinWhatCanBeRepresented() {
    #expect(pauses(.constant(.seconds(-1)), 1) == [0])
    let endless = RetryBackoff.exponential(
      from: .seconds(1), factor: 1e300, upTo: .seconds(Int64.max))
    #expect(pauses(endless, 3) == [1_000_000_000, .max, .max])
    #expect(pauses(.exponential(from: .seconds(1), factor: .nan), 2).allSatisfy { $0 >= 0 })
    #expect(pauses(.exponential(from: .seconds(1), factor: -1), 3).allSatisfy { $0 >= 0 })
  }

  @Test(arguments: [Self.longest.withFullJitter(), Self.longest.withFullJitter(seed: 1)])
  func withFullJitterTheyLieBetweenZeroAndWhatTheyWouldBe(_ backoff: RetryBackoff) {
    let limits = pauses(Self.longest)
    var all: Set<Int64> = []
    for transaction in 0..<200 {
      let drawn = pauses(backoff, transaction: UInt64(transaction))
      #expect(zip(drawn, limits).allSatisfy { 0...$1 ~= $0 })
      all.formUnion(drawn)
    }
    #expect(all.count > 900, "They are spread.")
    #expect(pauses(.none.withFullJitter()) == [0, 0, 0, 0, 0])
  }

  @Test func aSeedAndASimulationGiveTheSameDraws() {
    let seeded = { pauses(Self.longest.withFullJitter(seed: $0)) }
    #expect(seeded(1) == seeded(1))
    #expect(seeded(1) != seeded(2))
    let simulated = {
      pauses(Self.longest.withFullJitter(), transaction: $0, isSimulated: true)
    }
    #expect(simulated(1) == simulated(1))
    #expect(simulated(1) != simulated(2))
  }
}
