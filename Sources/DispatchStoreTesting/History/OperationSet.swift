/// A set of operations' indices, with one bit each.
struct OperationSet: Hashable {
  private var words: [UInt64]

  init(capacity: Int) {
    words = Array(repeating: 0, count: (capacity + 63) / 64)
  }

  mutating func insert(_ index: Int) {
    words[index >> 6] |= 1 << UInt64(index & 63)
  }

  mutating func remove(_ index: Int) {
    words[index >> 6] &= ~(1 << UInt64(index & 63))
  }
}
