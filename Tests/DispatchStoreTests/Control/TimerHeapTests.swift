import Testing

@testable import DispatchStore

@Suite("A heap of timers", .timeLimit(.minutes(10)))
struct TimerHeapTests {
  @Test func givesThemInTheOrderOfTheirDeadlinesAndThenOfTheirInsertion() {
    var heap = TimerHeap<Int64, String>()
    for (name, deadline) in [("c", 30), ("a1", 10), ("b", 20), ("a2", 10), ("d", 40)] {
      _ = heap.insert(name, at: Int64(deadline))
    }
    #expect(heap.earliest() == 10)
    #expect(heap.takeDue(at: 9).isEmpty)
    #expect(heap.takeDue(at: 30) == ["a1", "a2", "b", "c"])
    #expect(heap.earliest() == 40)
    #expect(heap.takeDue(at: .max) == ["d"])
    #expect(heap.earliest() == nil)
  }

  @Test func oneThatIsRemovedDoesNotFireAndFiresOnceWhereItIsRemovedLate() {
    var heap = TimerHeap<Int64, String>()
    let first = heap.insert("first", at: 10)
    let second = heap.insert("second", at: 20)
    #expect(heap.remove(first) == "first")
    #expect(heap.remove(first) == nil)
    #expect(heap.earliest() == 20)
    #expect(heap.takeDue(at: 20) == ["second"])
    #expect(heap.remove(second) == nil)
  }

  @Test func placesOfRemovedTimersAreAtMostAsManyAsTheOthers() {
    var heap = TimerHeap<Int64, Int>()
    var kept: [Int] = []
    for number in 0..<10_000 {
      // In an order that is neither the deadlines' nor its reverse.
      let token = heap.insert(number, at: Int64(number * 7_919 % 10_007))
      if number % 10 == 0 { kept.append(number) } else { _ = heap.remove(token) }
      #expect(heap.placeCount <= max(2 * heap.count, 64) + 1)
    }
    #expect(heap.count == kept.count)
    #expect(heap.takeDue(at: .max) == kept.sorted { $0 * 7_919 % 10_007 < $1 * 7_919 % 10_007 })
  }
}
