/// A set of operations' indices, with one bit each.
struct OperationSet {
  /// The part of a set that says which one it is: without the full words before it, and the empty ones after it.
  ///
  /// Its size depends on how many operations overlap, not on the length of the history, unless some never returned.
  struct Part: Hashable {
    fileprivate let start: Int
    fileprivate let words: [UInt64]
  }

  private var words: [UInt64]
  /// The number of full words before the first one that is not.
  private var fullCount = 0
  /// The number of words up to the last one that is not empty.
  private var usedCount = 0

  init(capacity: Int) {
    words = Array(repeating: 0, count: (capacity + 63) / 64)
  }

  var part: Part { Part(start: fullCount, words: Array(words[fullCount..<usedCount])) }

  mutating func insert(_ index: Int) {
    words[index >> 6] |= 1 << UInt64(index & 63)
    while fullCount < words.count, words[fullCount] == .max { fullCount += 1 }
    usedCount = max(usedCount, index >> 6 + 1)
  }

  mutating func remove(_ index: Int) {
    words[index >> 6] &= ~(1 << UInt64(index & 63))
    fullCount = min(fullCount, index >> 6)
    while usedCount > 0, words[usedCount - 1] == 0 { usedCount -= 1 }
  }
}
