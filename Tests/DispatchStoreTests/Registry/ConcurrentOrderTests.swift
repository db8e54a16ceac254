import Testing

@testable import DispatchStore

/// In which order an inline run takes the stores of one dispatch in the concurrent pool.
struct ConcurrentOrderTests {
  private func order(_ prerequisites: [[Int]], mayBlock blockers: Set<Int>) -> [Int]? {
    ConcurrentOrder(
      prerequisites: prerequisites, mayBlock: prerequisites.indices.map(blockers.contains))?
      .storeIndices
  }

  @Test func plainReductionsKeepTheirOrder() {
    #expect(order([[], [0], [], [1]], mayBlock: []) == [0, 1, 2, 3])
    #expect(ConcurrentOrder(prerequisites: nil, mayBlock: [false, false])?.permutation == nil)
  }

  @Test func whatDoesNotWaitForAnOperationGoesBeforeIt() {
    #expect(order([[], [0], []], mayBlock: [1]) == [0, 2, 1])
    #expect(order([[], []], mayBlock: [0]) == [1, 0])
  }

  @Test func whatWaitsForAnOperationComesAfterItAlsoIndirectly() {
    #expect(order([[], [0], [1], []], mayBlock: [0]) == [3, 0, 1, 2])
    #expect(order([[], [0], [1], [2]], mayBlock: [0, 2]) == [0, 1, 2, 3])
  }

  @Test func thereIsNoneWhereAnOperationWouldDelayAStoreThatDoesNotWaitForIt() {
    #expect(order([[], []], mayBlock: [0, 1]) == nil)
    // Both wait for the first one, neither for the other.
    #expect(order([[], [0], [0]], mayBlock: [0, 1, 2]) == nil)
    #expect(order([[], [0], [0]], mayBlock: [0, 1]) == nil)
    #expect(order([[], [], [0], [1]], mayBlock: [0, 1]) == nil)
  }
}
